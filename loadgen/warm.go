package loadgen

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// warmLimit bounds the time for which connections are opened before the start.
const warmLimit = 5 * time.Second

// warmMargin is how long before StartAt the last of them must be open.
const warmMargin = 200 * time.Millisecond

// warm opens connections, so that requests need not wait for theirs, and fixes
// the start of the run. It ends in time for StartAt, and when the user wishes to
// stop. What does not open is met again by the requests, whose records tell.
func (r *runner) warm(ctx context.Context) {
	limit := warmLimit
	if !r.o.StartAt.IsZero() {
		limit = min(limit, time.Until(r.o.StartAt)-warmMargin)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	var heeding sync.WaitGroup
	heeding.Go(func() {
		select {
		case <-r.o.Stop: // never, when it is nil
			cancel()
		case <-limited.Done():
		}
	})
	_ = r.client.Warm(limited, Connections(r.o.Workload, r.o.MaxInFlight))
	cancel()
	heeding.Wait()
	start := time.Now()
	if !r.o.StartAt.IsZero() {
		start = start.Add(time.Until(r.o.StartAt)) // by the clock that does not jump
	}
	r.lead.Store(int64(start.Sub(r.made)))
	select {
	case <-r.o.Stop:
		r.interrupt() // before anything is sent
	default:
	}
}

// An answer is guessed to take a second and this long for each token of its
// output: a stream that is read as fast as it comes, of a server with some load.
const tokenTime = 20 * time.Millisecond

// Connections is about how many requests the sender of a stream has in flight at
// its busiest: exactly that many in a closed loop; in an open one as many as are
// due, at its largest rate, while one answer is guessed to take (Little, "A Proof
// for the Queuing Formula: L = λW", 1961), and no more than its cap.
func Connections(s *workload.Stream, maxInFlight int) int {
	if n, closed := s.Closed(); closed {
		return n
	}
	if n, users := s.Users(); users {
		return n
	}
	answer := time.Second + time.Duration(s.MeanOutput()*float64(tokenTime))
	return int(min(float64(maxInFlight), math.Ceil(s.Busiest(answer))))
}
