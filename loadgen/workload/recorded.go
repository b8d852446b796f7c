package workload

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// trace has sessions start as recorded, the first one at once.
type trace struct {
	recorded []Session
	speed    float64
}

func newTrace(a profiles.Arrival, recorded []Session) (*trace, error) {
	if len(recorded) == 0 {
		return nil, fmt.Errorf("arrivals of a trace without recorded sessions, expected a trace")
	}
	for i := 1; i < len(recorded); i++ {
		if recorded[i].Offset < recorded[i-1].Offset {
			return nil, fmt.Errorf("recorded session %d is due at %v, before the one in front of it at %v", i, recorded[i].Offset, recorded[i-1].Offset)
		}
	}
	speed := a.Speed
	if speed == 0 {
		speed = 1
	}
	return &trace{recorded, speed}, nil
}

func (t *trace) offset(i int64) time.Duration {
	if i >= int64(len(t.recorded)) {
		return Never
	}
	return time.Duration(toTicks(float64(t.recorded[i].Offset-t.recorded[0].Offset) / t.speed))
}

// rate is that of the whole recording: gaps over the time between the first and
// the last session, 0 when they all start at once.
func (t *trace) rate(time.Duration) float64 {
	last := int64(len(t.recorded) - 1)
	if span := t.offset(last); span > 0 {
		return float64(last) / span.Seconds()
	}
	return 0
}

func (t *trace) count() (int64, bool) { return int64(len(t.recorded)), true }

// checkRecorded reports the first recorded session that cannot be sent.
func checkRecorded(recorded []Session) error {
	for i, s := range recorded {
		if len(s.Turns) == 0 || len(s.Turns) > maxTurns {
			return fmt.Errorf("recorded session %d has %d turns, expected 1 to %d", i, len(s.Turns), maxTurns)
		}
	}
	return nil
}

// replay fills a session with the turns of a recorded one.
//
// A list that is used up begins again, under any arrivals but the trace's own.
// Ids of blocks then are new ones: a second pass over the list shares among its
// requests what the first one shared, and nothing with it.
func (s *Stream) replay(session *Session) {
	n := int64(len(s.options.Recorded))
	recorded := s.options.Recorded[session.Index%n]
	session.Tenant, session.Class, session.Model = recorded.Tenant, recorded.Class, recorded.Model
	session.Turns = slices.Clone(recorded.Turns)
	fresh := uint64(session.Index / n)
	if s.options.UniquePrefixes {
		fresh = uint64(session.Index) + 1
	}
	if fresh == 0 {
		return
	}
	for t := range session.Turns {
		hashes := slices.Clone(session.Turns[t].Hashes)
		for k := range hashes {
			hashes[k] = mix(hashes[k] ^ mix(fresh))
		}
		session.Turns[t].Hashes = hashes
	}
}

// meanTurns is the mean number of turns of recorded sessions.
func meanTurns(recorded []Session) float64 {
	turns := 0
	for _, s := range recorded {
		turns += len(s.Turns)
	}
	return float64(turns) / math.Max(1, float64(len(recorded)))
}
