package reports

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/llmctl/llmctl/reports/record"
)

// WriteVegeta writes the requests of a run as vegeta's JSON results, one a line,
// so that `vegeta report` and `vegeta plot` read them. The latency is from Sent
// to the end of the stream. A request that failed in spite of a status of 2xx
// has code 0, as vegeta counts success by the code alone. Requests that were cut,
// cancelled or never sent are left out, since vegeta has no word for them; left
// is their number. Results are in the order in which they were sent, with
// numbers from 0 on, which vegeta's plot relies on.
func WriteVegeta(w io.Writer, run record.Run, records iter.Seq[*record.Record]) (left int, err error) {
	var hits []hit
	errors := map[string]string{} // one copy of each text
	for r := range records {
		h, ok := newHit(r)
		if !ok {
			left++
			continue
		}
		if text, known := errors[h.err]; known {
			h.err = text
		} else {
			errors[h.err] = h.err
		}
		hits = append(hits, h)
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.sent, b.sent) })
	out := bufio.NewWriter(w)
	encode := vegeta.NewJSONEncoder(out)
	for i, h := range hits {
		err := encode(&vegeta.Result{
			Attack: run.ID, Seq: uint64(i), Code: h.code, Timestamp: run.Environment.Start.Add(h.sent), Latency: h.latency,
			Error: h.err, Method: http.MethodPost, URL: run.Target.Endpoint,
		})
		if err != nil {
			return left, fmt.Errorf("writing results for vegeta: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return left, fmt.Errorf("writing results for vegeta: %w", err)
	}
	return left, nil
}

// hit is what vegeta knows of a request.
type hit struct {
	sent, latency time.Duration
	code          uint16
	err           string
}

// newHit reports false for a request that is neither a success nor a failure.
func newHit(r *record.Record) (h hit, ok bool) {
	sent, known := r.Sent.Since()
	if !known || r.Outcome != record.OK && r.Outcome != record.Failed {
		return h, false
	}
	h.sent, h.code = sent, uint16(r.HTTPStatus)
	if end, known := r.End().Since(); known {
		h.latency = end - sent
	}
	if r.Outcome == record.Failed {
		h.err = string(r.Failure)
		if r.Detail != "" {
			h.err += ": " + r.Detail
		}
		if h.code/100 == 2 {
			h.code = 0
		}
	}
	return h, true
}
