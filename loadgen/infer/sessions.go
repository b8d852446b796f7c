package infer

import (
	"iter"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// FromSessions makes a scenario of the sessions of a trace, or of a stream.
// Where prompts have the ids of their blocks, what they share is what a cache
// without limits would find; otherwise nothing is known of it. Timed says that
// offsets mean something.
func FromSessions(sessions iter.Seq[workload.Session], timed bool, o Options) (*Result, error) {
	return FromRequests(requestsOf(sessions, timed), o)
}

// epoch is what offsets count from: midnight of 1970, so that hours of the day
// are hours of the trace.
var epoch = time.Unix(0, 0)

func requestsOf(sessions iter.Seq[workload.Session], timed bool) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		cache := map[uint64]struct{}{}
		for s := range sessions {
			r := Request{Tenant: s.Tenant, Class: s.Class, Model: s.Model}
			if len(s.Turns) > 1 {
				r.Session = sessionName(s.Index)
			}
			at, said := epoch.Add(s.Offset), 0
			for _, t := range s.Turns {
				at = at.Add(t.Think)
				if timed {
					r.At = at
				}
				said += t.Input
				r.Input, r.Output, r.Cached = said, t.Output, cachedTokens(cache, t)
				said += t.Output
				if !yield(r) {
					return
				}
			}
		}
	}
}

// cachedTokens is how much of a prompt's beginning was in a prompt before; −1
// when that is not known.
func cachedTokens(cache map[uint64]struct{}, t workload.Turn) int {
	if len(t.Hashes) == 0 {
		return -1
	}
	n := 0
	for n < len(t.Hashes) {
		if _, hit := cache[t.Hashes[n]]; !hit {
			break
		}
		n++
	}
	for _, id := range t.Hashes {
		cache[id] = struct{}{}
	}
	return min(n*workload.HashTokens, t.Input)
}

func sessionName(index int64) string { return strconv.FormatInt(index, 36) }
