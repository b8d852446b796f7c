package infer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/infer"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// talks are conversations of three turns, 200 ms after the answer before, at a few
// at a time; in an open loop each is sent 40 ms after it was due.
func talks(open bool) (records []*record.Record) {
	const slots, answer, think, late = 4, 300 * time.Millisecond, 200 * time.Millisecond, 40 * time.Millisecond
	for session := range 40 {
		at := time.Duration(session/slots) * 3 * (answer + think)
		for turn := range 3 {
			r := &record.Record{
				ID: int64(len(records) + 1), Session: int64(session), Turn: turn, Outcome: record.OK, HTTPStatus: 200,
				Sent: record.At(at), Closed: record.At(at + answer), Input: record.Counted(50), Output: record.Counted(20),
			}
			if open {
				r.Scheduled, r.Sent, r.Closed = record.At(at), record.At(at+late), record.At(at+answer)
			}
			records = append(records, r)
			at += answer + think
		}
	}
	return records
}

func lines(records []*record.Record) string {
	var b strings.Builder
	for _, r := range records {
		b.Write(append(r.AppendJSON(nil), '\n'))
	}
	return b.String()
}

// The records of a closed loop say how many were in flight, and those of any how
// long users thought.
func TestRecordsAlone(t *testing.T) {
	for _, open := range []bool{false, true} {
		log := infer.NewLog(strings.NewReader(lines(talks(open))), "records")
		r, err := infer.FromRequests(log.All(), infer.Options{Sessions: true})
		if err != nil {
			t.Fatal(err)
		}
		w := again(t, r.Scenario).Workload
		if want := (profiles.Arrival{Process: profiles.Closed, Concurrency: 4}); !open && w.Arrival != want {
			t.Errorf("arrival %+v, want %+v", w.Arrival, want)
		}
		if open && w.Arrival.RatePerS == 0 {
			t.Errorf("arrival %+v of an open loop", w.Arrival)
		}
		if w.Session.Turns.Mean != 3 || w.Session.Think.Mean != 200*time.Millisecond {
			t.Errorf("open %v: session %+v", open, w.Session)
		}
	}
}

// A run says what its closed loop was, also where the records can not.
func TestRun(t *testing.T) {
	records := talks(false)
	records[7].Outcome, records[7].Failure, records[7].HTTPStatus, records[7].Input = record.Failed, record.HTTPFailure(503), 503, record.Counted(9000)
	records[8].Outcome, records[8].Input = record.Cut, record.Counted(9000)
	think := profiles.Delay{Kind: profiles.Uniform, Min: 100 * time.Millisecond, Max: 300 * time.Millisecond}
	for _, tt := range []struct {
		arrival  profiles.Arrival
		sessions bool
		think    profiles.Delay
	}{
		{profiles.Arrival{Process: profiles.Closed, Concurrency: 6, RampUp: 1500 * time.Millisecond}, true, think},
		{profiles.Arrival{Process: profiles.Closed, Concurrency: 6}, false, profiles.Delay{}},
		{profiles.Arrival{Process: profiles.Users, Count: 9}, false, think},
	} {
		asked := profiles.Scenario{Workload: profiles.Workload{Arrival: tt.arrival, Session: profiles.Session{Think: think}}}
		text, err := asked.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		r, err := infer.FromRun(record.Run{Scenario: text}, slices.Values(records), infer.Options{Sessions: tt.sessions})
		if err != nil {
			t.Fatal(err)
		}
		w := again(t, r.Scenario).Workload
		if w.Arrival != tt.arrival || w.Session.Think != tt.think || w.Input.Mean != 50 {
			t.Errorf("%+v: %+v, think %+v, input %+v", tt, w.Arrival, w.Session.Think, w.Input)
		}
		if said := fmt.Sprint(r.Basis); !strings.Contains(said, "as the run was asked for") {
			t.Error(said)
		}
	}
	open, err := profiles.Scenario{Workload: profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 3}}}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	r, err := infer.FromRun(record.Run{Scenario: open}, slices.Values(talks(true)), infer.Options{})
	if err != nil || r.Scenario.Workload.Arrival.ClosedLoop() || r.Scenario.Workload.Arrival == (profiles.Arrival{}) {
		t.Errorf("open loop: %+v, %v", r, err)
	}
	if _, err := infer.FromRun(record.Run{Scenario: []byte(`[]`)}, slices.Values(records), infer.Options{}); err == nil {
		t.Error("a scenario that is none is read")
	}
}
