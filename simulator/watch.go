package simulator

import "time"

// Progress is how far a run is.
type Progress struct {
	Now       time.Duration // virtual
	Sent      int64         // requests, of the warm-up too
	Open      int           // sent and not ended
	Running   int           // of them in a batch
	Waiting   int           // of them at replicas, for a place in a batch
	KVUsage   float64       // share of KV blocks in use, the mean of the replicas that are up
	Steps     int64         // of all replicas
	Measuring bool          // the warm-up is over
	Ended     bool          // nothing more is sent
	Growing   bool          // replicas start, or an autoscaler may still add some
}

// Order is what follows from watching a run.
type Order int

// Orders.
const (
	GoOn       Order = iota
	EndSending       // what is in flight still has its time to end
	EndAll           // what is in flight is cut
)

// watchEvery is the number of events between two looks at a run.
const watchEvery = 4096

// watch shows the run to whoever wants to see it, and obeys.
func (s *sim) watch() {
	if s.config.Watch == nil {
		return
	}
	seen := Progress{
		Now: s.now, Sent: s.ids, Open: s.open, Steps: s.result.Steps,
		Measuring: s.now >= s.config.Warmup, Ended: s.ended >= 0,
		Growing: s.growing(),
	}
	up := 0
	for _, p := range s.front.replicas {
		if !p.tells() {
			continue
		}
		st := p.sched.Stats()
		seen.Running, seen.Waiting, seen.KVUsage = seen.Running+st.Running, seen.Waiting+st.Waiting, seen.KVUsage+st.Usage
		up++
	}
	seen.KVUsage /= float64(max(1, up))
	switch s.config.Watch(seen) {
	case EndSending:
		s.endSending()
	case EndAll:
		s.giveUp()
	}
}
