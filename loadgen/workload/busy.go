package workload

import "time"

// MeanOutput is how many output tokens a request asks for on average.
func (s *Stream) MeanOutput() float64 {
	if len(s.options.Recorded) == 0 {
		return s.output.mean(maxTurns) // of a Zipf distribution, as many terms as matter
	}
	sum, n := 0, 0
	for _, session := range s.options.Recorded {
		for _, turn := range session.Turns {
			sum += turn.Output
			n++
		}
	}
	return float64(sum) / float64(n)
}

// Busiest is how many requests of this shard are due on average within a time of
// this length when most are; 0 in a closed loop. Of a trace it is the most
// sessions that are due within it, each with the average number of turns.
func (s *Stream) Busiest(length time.Duration) float64 {
	n, finite := s.Len()
	if !finite {
		return s.workload.Arrival.Peak() * length.Seconds() / float64(s.shards())
	}
	most, first := int64(0), int64(0)
	for k := range n {
		for s.Offset(first) <= s.Offset(k)-length {
			first++
		}
		most = max(most, k-first+1)
	}
	return float64(most) * meanTurns(s.options.Recorded)
}
