package sizing

import "math"

// load is how a fleet is loaded.
type load struct {
	replicas   int
	rate       float64 // per replica
	total      float64 // of the fleet
	operating  state
	perReplica float64 // the largest rate that a replica is planned for
}

// planLoad divides the load among replicas so that each stays within the target
// utilization of its largest rate.
func planLoad(r replica, in Inputs, maxRate float64) load {
	l := load{replicas: 1, perReplica: maxRate * in.TargetUtilization}
	switch {
	case in.RPS > 0:
		l.replicas = atLeastOne(in.RPS / l.perReplica)
		l.total = in.RPS
	case in.Concurrency > 0:
		// By Little's law a replica at its planned rate has rate × latency
		// requests in flight.
		inFlight := l.perReplica * r.at(l.perReplica).e2e()
		l.replicas = atLeastOne(float64(in.Concurrency) / inFlight)
		l.total = float64(l.replicas) * closedRate(r, float64(in.Concurrency)/float64(l.replicas), l.perReplica)
	default:
		l.total = l.perReplica
	}
	l.rate = l.total / float64(l.replicas)
	l.operating = r.at(l.rate)
	return l
}

// closedRate is the rate at which a replica has n requests in flight, at most
// high.
func closedRate(r replica, n, high float64) float64 {
	low := 0.0
	for range 60 {
		middle := (low + high) / 2
		if middle*r.at(middle).e2e() < n {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// atLeastOne rounds a number of replicas up. A millionth of a replica too much
// is rounding, not load.
func atLeastOne(n float64) int { return max(1, int(math.Ceil(n-1e-6))) }

// fleet prices the load.
func (l load) fleet(in Inputs, m mix, maxRate float64) *Fleet {
	f := &Fleet{
		Replicas:     l.replicas,
		Accelerators: l.replicas * in.TensorParallel * in.PipelineParallel,
		Utilization:  l.rate / maxRate,
		RPS:          l.total,
	}
	f.price(in.USDPerAcceleratorHour, m)
	return f
}
