package simulator

import (
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// The window ends as the load generator's does: one bounded by time after exactly
// this time; one bounded by a number of requests when the next one is due, so that
// it is as long as the schedule of its own; that of a closed loop, whose requests
// have no schedule, with the last answer; and that of a trace a mean gap after the
// last request, as if another one had been due then.

// startSources begins to send.
func (s *sim) startSources() {
	s.patient = s.config.Requests > 0
	for i, stream := range s.config.Streams {
		src := newSource(i, stream)
		s.sources = append(s.sources, src)
		s.patient = s.patient && !src.open
	}
	for _, src := range s.sources {
		src.start(s)
	}
}

// planned is when sending ends, 0 when that is unknown.
func (s *sim) planned() time.Duration {
	if s.config.Requests > 0 || s.config.Duration <= 0 {
		return 0
	}
	return s.config.Warmup + s.config.Duration
}

// admits reports whether one more request is sent now, and counts it.
func (s *sim) admits() bool {
	if s.ended >= 0 {
		return false
	}
	if s.config.Requests == 0 || s.now < s.config.Warmup {
		return true
	}
	if s.counted >= s.config.Requests {
		s.endSending()
		return false
	}
	if s.counted++; s.patient && s.counted == s.config.Requests {
		s.endSending()
	}
	return true
}

// exhausted is a stream that will not send again. When none will, the window ends.
//
// A session may end only when its last answer fails; then the window lasts at
// least until now, since records of later moments have gone out.
func (s *sim) exhausted() {
	for _, src := range s.sources {
		if !src.spent() {
			return
		}
	}
	if s.ended >= 0 {
		return
	}
	if s.lastDue == 0 || s.ids < 2 {
		s.patient = true // all were due at once
		s.endSending()
		return
	}
	end := s.lastDue + s.lastDue/time.Duration(s.ids-1)
	if planned := s.planned(); planned > 0 {
		end = min(end, planned)
	}
	s.agenda.plan(max(end, s.now), call((*sim).endSending))
}

// endSending has nothing more be sent. What is in flight has its time to drain.
func (s *sim) endSending() {
	if s.ended >= 0 {
		return
	}
	s.ended = s.now
	if !s.patient {
		s.endWindow()
	}
	s.agenda.plan(later(s.now, s.config.Drain), call((*sim).cutAll))
}

// measuring tells whether now lies in the window.
func (s *sim) measuring() bool { return s.now >= s.config.Warmup && !s.known }

// endWindow fixes the window, unless it is fixed already.
func (s *sim) endWindow() {
	if s.known {
		return
	}
	s.known = true
	s.result.Window = record.Window{Start: min(s.config.Warmup, s.now), End: s.now}
	s.meter.round(s) // what happened up to here is the window's
	s.onEnd(s.result.Window)
}

// cutAll ends whatever has not ended by itself.
func (s *sim) cutAll() {
	for id := range s.ids {
		if r := s.flying[id]; r != nil {
			s.withdraw(r)
			s.over(r, record.Cut, "")
		}
	}
}
