package record

import "time"

// Phases of a run.
const (
	WarmingUp = "warming up"
	Measuring = "measuring"
	Draining  = "draining"
)

// LiveSpan is the time over which LivePercentiles are taken.
const LiveSpan = 5 * time.Second

// Live is what a live view of a run shows at one instant. The load generator
// publishes it a few times a second.
type Live struct {
	Elapsed time.Duration
	Total   time.Duration // planned; 0 when the run is bounded by requests
	Phase   string        // WarmingUp, Measuring or Draining; empty before the first
	Title   string        // what is loaded, for the top line

	ClosedLoop bool // nothing is due: there is neither an offered rate nor a lag

	Scheduled, Sent, InFlight, OK, Failed, Cancelled, Dropped int
	PlannedRequests                                           int // 0 when bounded by time
	OutputTokens                                              int // so far

	OfferedRPS       float64 // over the last second; 0 in a closed loop
	CompletedRPS     float64
	OutputTokensPerS float64

	// Curve is what the runs before this one of a sweep or a search showed, in
	// order of their loads, and Load that of this one; empty otherwise.
	Curve []LivePoint
	Load  float64

	TTFT, TPOT, Lag LivePercentiles // over the last LiveSpan
	Failures        map[Failure]int
	Server          *ServerSample // latest scrape, nil when there is none
}

// LivePercentiles are rough percentiles for the eye; N is the sample size.
type LivePercentiles struct {
	N        int
	P50, P99 time.Duration
}

// LivePoint is a finished run of a sweep or of a search.
type LivePoint struct {
	Load    float64 // requests per second, or in flight
	Goodput float64 // requests per second that met the objective; NaN when unknown
	Holds   bool    // the objective was met
}
