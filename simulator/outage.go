package simulator

import (
	"cmp"
	"slices"
)

// outages are how many are going on: of the way to the replicas, which go on by
// themselves and keep their caches. Those of the fallback are counted there.
type outages struct{ replicas int }

// planOutages has outages begin and end.
func (f *front) planOutages() {
	for _, fail := range f.s.config.Cluster.Failures {
		if fail.Kind != "outage" {
			continue
		}
		out := f.outage(fail.Target)
		if out == nil {
			continue // of a fallback that is not there
		}
		f.s.agenda.plan(fail.At, call(func(s *sim) {
			if *out++; *out == 1 {
				f.breakOff(fail.Target)
			}
		}))
		if fail.For > 0 {
			f.s.agenda.plan(fail.At+fail.For, call(func(s *sim) { *out-- }))
		}
	}
}

const toFallback = "fallback"

// outage is the count of a target's outages.
func (f *front) outage(target string) *int {
	switch {
	case target != toFallback:
		return &f.outages.replicas
	case f.gateway == nil || f.gateway.provider == nil:
		return nil
	}
	return &f.gateway.provider.out
}

// breakOff breaks what is in flight at a target.
func (f *front) breakOff(target string) {
	if target == toFallback {
		f.gateway.provider.breakOff()
		return
	}
	for _, r := range f.s.inFlight(func(r *request) bool { return r.held }) {
		if !r.held {
			continue // it has broken with another
		}
		r.replica.abort(r)
		f.lost(r)
	}
}

// inFlight are the requests in flight that are wanted, in the order in which they
// were sent.
func (s *sim) inFlight(wanted func(*request) bool) (all []*request) {
	for _, r := range s.flying {
		if wanted(r) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *request) int { return cmp.Compare(a.id, b.id) })
	return all
}
