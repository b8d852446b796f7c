package reports

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/llmctl/llmctl/reports/record"
)

// TestVegetaReadsARun decodes what was written as the vegeta command does, and
// sums it up with vegeta's own metrics.
func TestVegetaReadsARun(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := record.Run{ID: "run", Target: record.Target{Endpoint: "http://localhost:8000/v1"}, Environment: record.Environment{Start: start}}
	failed := func(sent time.Duration, status int, class record.Failure) *record.Record {
		r := request(sent, 100*ms, ms, 2)
		r.Outcome, r.Failure, r.HTTPStatus, r.Detail = record.Failed, class, status, "why"
		return r
	}
	var records []*record.Record
	for i := range 98 { // in the order in which they end, the last sent first
		r := request(time.Duration(98-i)*10*ms, 100*ms, ms, 2)
		r.HTTPStatus = 200
		records = append(records, r)
	}
	cut := request(0, ms, ms, 2)
	cut.Outcome = record.Cut
	records = append(records, failed(5*ms, 200, record.StreamError), failed(6*ms, 503, record.HTTPFailure(503)), cut,
		&record.Record{Scheduled: record.At(0), Outcome: record.Dropped})
	var b bytes.Buffer
	left, err := WriteVegeta(&b, run, slices.Values(records))
	if err != nil || left != 2 {
		t.Fatalf("%d left out, %v", left, err)
	}
	decode := vegeta.DecoderFor(&b)
	if decode == nil {
		t.Fatal("vegeta does not know the encoding")
	}
	var metrics vegeta.Metrics
	for seq := uint64(0); ; seq++ {
		var r vegeta.Result
		if err := decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if r.Seq != seq || seq == 0 && (!r.Timestamp.Equal(start.Add(5*ms)) || r.Code != 0 || r.Error != "stream_error: why") {
			t.Errorf("result %d: %+v", seq, r)
		}
		metrics.Add(&r)
	}
	metrics.Close()
	if metrics.Requests != 100 || metrics.Success != 0.98 || metrics.StatusCodes["503"] != 1 || len(metrics.Errors) != 2 {
		t.Errorf("%+v", metrics)
	}
	if got, want := metrics.Latencies.Max, 101*ms; got < want-ms || got > want+ms {
		t.Errorf("longest request %v, want %v", got, want)
	}
}

func TestVegetaWriteFails(t *testing.T) {
	r := request(0, ms, ms, 2)
	if _, err := WriteVegeta(brokenWriter{}, record.Run{}, slices.Values([]*record.Record{r})); err == nil {
		t.Error("no error")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }
