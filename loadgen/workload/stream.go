package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// Options are what a stream needs besides the description of the workload.
type Options struct {
	Seed uint64 // of arrivals, lengths and all other choices
	// UniquePrefixes gives each request a prefix of its own where the workload
	// would share one. Lengths and arrivals stay exactly the same, which makes
	// it the other half of the shared-prefix experiment.
	UniquePrefixes bool
	// Recorded are the sessions of a trace, in order of Offset; they take the
	// place of those that the workload would draw. Arrivals of the trace end
	// with them; under all others the list begins again when it is used up.
	Recorded []Session
	// Shard i of Shards sends every Shards-th session of the stream, beginning
	// with the i-th, i from 0; no Shards are one.
	Shard, Shards int
}

// Stream is a deterministic sequence of sessions: those of one shard, which are
// numbered k = 0, 1, … and are the sessions k·Shards + Shard of the whole. Its
// methods may be called from any goroutine.
type Stream struct {
	workload    profiles.Workload
	options     Options
	arrivals    arrivals
	input       lengths
	output      lengths
	several     bool // sessions have more than one turn
	turnCount   lengths
	think       delays
	cancelAfter delays
	groups      []float64 // cumulative share of each prefix group
	classes     shares
	models      shares
}

// New checks the workload and returns its stream.
func New(w profiles.Workload, o Options) (*Stream, error) {
	s := &Stream{workload: w, options: o}
	turns, err := s.sessions()
	if err != nil {
		return nil, err
	}
	if err := s.choices(); err != nil {
		return nil, err
	}
	if err := checkShard(w.Arrival, o); err != nil {
		return nil, err
	}
	if s.arrivals, err = newArrivals(w.Arrival, turns, o.Recorded, o.Seed); err != nil {
		return nil, err
	}
	return s, nil
}

// sessions prepares what sessions are made of and returns how many turns they
// have on average.
func (s *Stream) sessions() (turns float64, err error) {
	w := &s.workload
	if s.think, err = newDelays("think", w.Session.Think); err != nil {
		return 0, err
	}
	if recorded := s.options.Recorded; len(recorded) > 0 {
		return meanTurns(recorded), checkRecorded(recorded)
	}
	if s.input, err = newLengths("input", w.Input); err != nil {
		return 0, err
	}
	if s.output, err = newLengths("output", w.Output); err != nil {
		return 0, err
	}
	if w.Prefix.Groups < 0 || w.Prefix.Tokens < 0 || !(w.Prefix.Popularity >= 0) {
		return 0, fmt.Errorf("prefix with %d groups of %d tokens and popularity %g, expected none below 0", w.Prefix.Groups, w.Prefix.Tokens, w.Prefix.Popularity)
	}
	s.groups = zipf(w.Prefix.Groups, w.Prefix.Popularity)
	if w.Session.Turns == (profiles.Distribution{}) {
		return 1, nil
	}
	if s.turnCount, err = newLengths("turns", w.Session.Turns); err != nil {
		return 0, err
	}
	if most := w.Session.Turns.Largest(); most > maxTurns {
		return 0, fmt.Errorf("turns: %g in a session, expected at most %d", most, maxTurns)
	}
	turns = s.turnCount.mean(maxTurns)
	s.several = turns > 1
	return turns, nil
}

// choices prepares who sends sessions and what requests are like.
func (s *Stream) choices() (err error) {
	w := &s.workload
	if w.Tenants < 0 {
		return fmt.Errorf("%d tenants, expected none below 0", w.Tenants)
	}
	if s.classes, err = newShares("class", w.Classes); err != nil {
		return err
	}
	if s.models, err = newShares("model", w.Models); err != nil {
		return err
	}
	if s.cancelAfter, err = newDelays("cancel after", w.Cancel.After); err != nil {
		return err
	}
	return cmp.Or(
		checkFraction("cancellation", w.Cancel.Fraction),
		checkFraction("tools", w.Tools),
		checkFraction("a schema", w.Schema),
	)
}

// Workload is what the stream was made of.
func (s *Stream) Workload() profiles.Workload { return s.workload }

// Shares reports whether requests share beginnings: those of a prefix group, of
// one session, or of a trace that says so or may.
func (s *Stream) Shares() bool {
	if s.several {
		return true
	}
	if len(s.options.Recorded) > 0 {
		return slices.ContainsFunc(s.options.Recorded, func(session Session) bool {
			t := session.Turns[0]
			return len(session.Turns) > 1 || len(t.Body) > 0 || len(t.Hashes) > 0 && !s.options.UniquePrefixes
		})
	}
	return !s.options.UniquePrefixes && s.workload.Prefix.Groups > 0 && s.workload.Prefix.Tokens > 0
}

// Offset is when the k-th session of this shard is due since the start of
// sending, k ≥ 0. It is 0 for all sessions of a closed loop, and Never for
// those that a finite stream does not have.
func (s *Stream) Offset(k int64) time.Duration { return s.arrivals.offset(s.global(k)) }
