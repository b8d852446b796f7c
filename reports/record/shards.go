package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Merged is the runs of all shards of a workload as the one run of a machine
// that sent it alone.
type Merged struct {
	Run   Run
	parts []part
	apart time.Duration // between the first start and the last, where none was agreed on
}

// part is one shard, and how much later than agreed its clock began to count.
type part struct {
	*Saved
	late time.Duration
}

// Merge joins the saved runs of all shards. An error means that they are not all
// the shards of one workload, each once. Where the shards had agreed on a start,
// what a shard did is counted from that start by its wall clock, so a machine
// that began late, or whose clock is wrong, shows as lag; where they had not,
// each counts from its own start, and Warnings says so.
func Merge(shards []*Saved) (*Merged, error) {
	if len(shards) == 0 {
		return nil, errors.New("merging shards: there are none")
	}
	first := shards[0]
	seen := make([]string, max(first.Run.Shards, 1))
	for _, s := range shards {
		if s.Run.Shards < 1 {
			return nil, fmt.Errorf("putting runs together: %s is no shard, only those of bench --shard can be", s.path)
		}
	}
	for _, s := range shards {
		if err := sameWorkload(first, s); err != nil {
			return nil, fmt.Errorf("merging run %s with run %s: %w", s.path, first.path, err)
		}
		if other := seen[s.Run.Shard]; other != "" {
			return nil, fmt.Errorf("merging run %s: it is shard %d of %d, as run %s is", s.path, s.Run.Shard+1, s.Run.Shards, other)
		}
		seen[s.Run.Shard] = s.path
	}
	var missing []string
	for i, path := range seen {
		if path == "" {
			missing = append(missing, fmt.Sprint(i+1))
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("merging %d of %d shards: missing %s; name the run folders of all", len(shards), len(seen), strings.Join(missing, ", "))
	}
	return join(shards), nil
}

// sameWorkload reports why a run is no other shard of the same workload.
func sameWorkload(a, b *Saved) error {
	x, y := &a.Run, &b.Run
	switch {
	case x.Shards != y.Shards:
		return fmt.Errorf("it is one of %d shards, the other one of %d", y.Shards, x.Shards)
	case !sameJSON(x.Scenario, y.Scenario):
		return errors.New("their scenarios differ")
	case x.Setup != y.Setup:
		return fmt.Errorf("they were made in different ways: %s; %s", y.Setup, x.Setup)
	case !slices.Equal(x.SLO, y.SLO):
		return errors.New("their objectives differ")
	case warmup(x) != warmup(y) && warmup(x) >= 0 && warmup(y) >= 0:
		return fmt.Errorf("their warm-ups differ: %v and %v", y.Window.Start, x.Window.Start)
	case x.Target.Model != y.Target.Model:
		return fmt.Errorf("they asked for different models, %s and %s", y.Target.Model, x.Target.Model)
	case !x.StartAt.Equal(y.StartAt):
		return errors.New("they agreed on different starts (--start-at)")
	}
	return nil
}

// warmup is how long a run warmed up, −1 when it was over before that was known.
func warmup(r *Run) time.Duration {
	if r.Window.Start == r.Window.End {
		return -1
	}
	return r.Window.Start
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

func join(shards []*Saved) *Merged {
	shards = slices.Clone(shards)
	slices.SortFunc(shards, func(a, b *Saved) int { return a.Run.Shard - b.Run.Shard })
	run := shards[0].Run
	run.Shard, run.Shards, run.Records = 0, 0, 0
	run.Client = Client{CPUFraction: -1, MaxLag: run.Client.MaxLag}
	run.Server, run.Warnings, run.Interrupted, run.AskedRPS = nil, nil, false, 0
	requests := 0
	m := &Merged{}
	var ids, hosts, endpoints []string
	var earliest, latest time.Time
	cores := 0
	for i, s := range shards {
		r := &s.Run
		ids = append(ids, r.ID)
		hosts = appendNew(hosts, r.Environment.Host)
		endpoints = appendNew(endpoints, r.Target.Endpoint)
		cores += r.Environment.Cores
		start := r.Environment.Start
		if i == 0 || start.Before(earliest) {
			earliest = start
		}
		if i == 0 || start.After(latest) {
			latest = start
		}
		run.AskedRPS += r.AskedRPS
		requests += r.Requests
		run.Window = joinWindows(run.Window, r)
		run.Client.CPUFraction = max(run.Client.CPUFraction, r.Client.CPUFraction)
		run.Client.GCPauseP99 = max(run.Client.GCPauseP99, r.Client.GCPauseP99)
		run.Interrupted = run.Interrupted || r.Interrupted
		if len(r.Server) > len(run.Server) {
			run.Server = r.Server // each shard has read the same page
		}
		for _, w := range r.Warnings {
			if !slices.Contains(run.Warnings, w) {
				run.Warnings = append(run.Warnings, w)
			}
		}
		p := part{Saved: s}
		if !r.StartAt.IsZero() {
			p.late = start.Sub(r.StartAt)
		}
		m.parts = append(m.parts, p)
	}
	run.ID = strings.Join(ids, "+")
	run.Environment.Host, run.Environment.Cores, run.Environment.Start = strings.Join(hosts, ", "), cores, earliest
	run.Target.Endpoint = strings.Join(endpoints, ", ")
	if len(endpoints) > 1 {
		run.Server = nil // several servers, and nobody has read all of their pages
	}
	if run.StartAt.IsZero() {
		m.apart = latest.Sub(earliest)
	} else {
		run.Environment.Start = run.StartAt
	}
	run.Requests = requests
	m.Run = run
	return m
}

// joinWindows is the window of two shards together. An open loop that is bounded by
// a number of requests ends when the next one would have been due, at whichever
// shard that is first; all others end when the last shard does.
func joinWindows(w Window, r *Run) Window {
	w.Start = max(w.Start, r.Window.Start)
	if r.Requests > 0 && !r.ClosedLoop {
		w.End = min(w.End, r.Window.End)
	} else {
		w.End = max(w.End, r.Window.End)
	}
	return w
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// Records yields the records of all shards, one shard after another, with their
// times since the agreed start.
func (m *Merged) Records() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, p := range m.parts {
			for r := range p.Saved.Records() {
				r.delay(p.late)
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Err is why reading some shard's records ended early, nil when none did.
func (m *Merged) Err() error {
	var all []error
	for _, p := range m.parts {
		all = append(all, p.Err())
	}
	return errors.Join(all...)
}

// Warnings are those of the shards' files, complete after Records has been read
// to its end, and whether the shards loaded the target together at all.
func (m *Merged) Warnings() []Warning {
	var all []Warning
	for _, p := range m.parts {
		for _, w := range p.Saved.Warnings() {
			w.Text = fmt.Sprintf("shard %d: %s", p.Run.Shard+1, w.Text)
			all = append(all, w)
		}
	}
	if m.Run.StartAt.IsZero() && len(m.parts) > 1 {
		all = append(all, Warning{ShardsNotAligned, fmt.Sprintf("the shards had agreed on no start (--start-at) and began up to %v apart; they are put together as if they had begun at once", m.apart.Round(time.Millisecond))})
	}
	return all
}

// ShardsNotAligned is the code of the warning that shards had agreed on no start.
const ShardsNotAligned = "shards_not_aligned"

// delay moves what happened to a request, but not when it was due.
func (r *Record) delay(d time.Duration) {
	if d == 0 {
		return
	}
	for _, m := range []*Moment{&r.Sent, &r.Wrote, &r.FirstByte, &r.First, &r.FirstVisible, &r.Last, &r.Finished, &r.Closed} {
		if at, ok := m.Since(); ok {
			*m = At(at + d)
		}
	}
	if chunks, ok := r.Chunks.(*MeasuredChunks); ok {
		for i := range chunks.Times {
			chunks.Times[i] += d
		}
	}
}
