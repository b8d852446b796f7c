package infer

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// FromRun makes a scenario of the records of a saved run. What a closed loop or
// its users were asked for is taken from the run; the rest is what was measured.
func FromRun(run record.Run, records iter.Seq[*record.Record], o Options) (*Result, error) {
	var scenario struct {
		Workload runWorkload `json:"workload"`
	}
	if len(run.Scenario) > 0 {
		if err := json.Unmarshal(run.Scenario, &scenario); err != nil {
			return nil, fmt.Errorf("reading the scenario of the run: %w", err)
		}
	}
	o.run = &scenario.Workload
	return FromRequests(func(yield func(Request) bool) {
		for r := range records {
			if q, ok := requestOf(r); ok && !yield(q) {
				return
			}
		}
	}, o)
}

// requestOf is what a record says; ok is false for a request that was refused for
// a fault of its own.
func requestOf(r *record.Record) (q Request, ok bool) {
	brief := *r
	brief.Chunks = nil
	var row logRow
	row.read(gjson.ParseBytes(brief.AppendJSON(nil)), 0)
	q, broken, leftOut := row.request()
	return q, broken == "" && leftOut == ""
}

// runWorkload is what is read of the scenario of a run.
type runWorkload struct {
	Arrival struct {
		Process     profiles.ArrivalProcess `json:"process"`
		Concurrency int                     `json:"concurrency"`
		Users       int                     `json:"users"`
		RampS       float64                 `json:"ramp_s"`
	} `json:"arrival"`
	Think struct {
		Kind    profiles.DistributionKind `json:"kind"`
		MeanS   float64                   `json:"mean"`
		StdDevS float64                   `json:"stddev"`
		P99S    float64                   `json:"p99"`
		MinS    float64                   `json:"min"`
		MaxS    float64                   `json:"max"`
	} `json:"think_s"`
}

// closed is the closed loop, or the users, that the run was asked for; ok is false
// of other arrivals.
func (w *runWorkload) closed() (a profiles.Arrival, ok bool) {
	a = profiles.Arrival{
		Process: w.Arrival.Process, Concurrency: w.Arrival.Concurrency, Count: w.Arrival.Users, RampUp: seconds(w.Arrival.RampS),
	}
	return a, a.ClosedLoop()
}

func (w *runWorkload) think() profiles.Delay {
	t := &w.Think
	return profiles.Delay{
		Kind: t.Kind, Mean: seconds(t.MeanS), StdDev: seconds(t.StdDevS), P99: seconds(t.P99S), Min: seconds(t.MinS), Max: seconds(t.MaxS),
	}
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// flights are the requests of a closed loop, from their sending to their end.
type flights struct{ starts, ends []int64 }

func (f *flights) add(at time.Time, took time.Duration) {
	f.starts = append(f.starts, at.UnixNano())
	f.ends = append(f.ends, at.Add(took).UnixNano())
}

// most is the largest number in flight at one time. One that ends when another
// begins has made place for it.
func (f *flights) most() (most int) {
	slices.Sort(f.starts)
	slices.Sort(f.ends)
	ended := 0
	for i, start := range f.starts {
		for f.ends[ended] <= start && ended < i {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return most
}
