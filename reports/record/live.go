package record

import "time"

// Live is what a live view of a run shows at one instant. The load generator
// publishes it a few times a second.
type Live struct {
	Elapsed time.Duration
	Total   time.Duration // planned; 0 when the run is bounded by requests
	Phase   string        // "warming up", "measuring", "draining"
	Title   string        // what is loaded, for the top line

	Scheduled, Sent, InFlight, OK, Failed, Cancelled, Dropped int
	PlannedRequests                                           int // 0 when bounded by time

	OfferedRPS       float64 // over the last second
	CompletedRPS     float64
	OutputTokensPerS float64

	TTFT, TPOT LivePercentiles // over the last few seconds
	LagP99     time.Duration
	Failures   map[Failure]int
	Server     *ServerSample // latest scrape, nil when there is none
}

// LivePercentiles are rough percentiles for the eye; N is the sample size.
type LivePercentiles struct {
	N        int
	P50, P99 time.Duration
}
