package profiles

import "time"

// Scenario is one situation to plan or to measure: the same file serves size
// and bench. Zero fields mean "not said"; the command fills them
// with defaults and prints each with the flag that changes it.
type Scenario struct {
	Model       string
	Accelerator string
	Engine      string // "vllm@0.19"
	Parallel    Parallel
	Workload    Workload
	SLO         []SLO
	Price       Price
	Experiment  string // "", "none" or "shared-prefix"
}

// Parallel is how one replica is spread over accelerators.
type Parallel struct{ Tensor, Pipeline, Expert, Data int }

// Price overrides the accelerator's list price.
type Price struct{ USDPerAcceleratorHour float64 }

// Workload describes a stream of requests.
type Workload struct {
	Name    string // "chat", "rag", "agent", or "custom"
	Arrival Arrival
	Input   Distribution // prompt tokens, the shared prefix included
	Output  Distribution // generated tokens
	Prefix  Prefix
	Tenants int
	Classes map[string]float64 // share of requests by priority class
}

// ArrivalProcess names how requests arrive.
type ArrivalProcess string

const (
	Constant ArrivalProcess = "constant" // evenly spaced
	Poisson  ArrivalProcess = "poisson"  // exponential gaps
	Closed   ArrivalProcess = "closed"   // a fixed number in flight
)

// Arrival is the process and its one parameter.
type Arrival struct {
	Process     ArrivalProcess
	RatePerS    float64 // open loop
	Concurrency int     // closed loop
}

// DistributionKind names a distribution of lengths.
type DistributionKind string

const (
	Fixed     DistributionKind = "fixed"     // Mean
	Uniform   DistributionKind = "uniform"   // Min..Max
	Normal    DistributionKind = "normal"    // Mean, StdDev
	Lognormal DistributionKind = "lognormal" // Mean, P99
)

// Distribution is a distribution of token counts. Samples are at least 1.
type Distribution struct {
	Kind   DistributionKind
	Mean   float64
	StdDev float64
	P99    float64
	Min    float64
	Max    float64
}

// Prefix says how much of the prompts is shared: each request belongs to one of
// Groups groups, whose first Tokens tokens are equal. Groups 0 means that
// nothing is shared.
type Prefix struct {
	// None says that nothing is shared, where the zero Prefix says nothing and
	// takes a default.
	None       bool
	Groups     int
	Tokens     int
	Popularity float64 // Zipf exponent of the groups' popularity; 0 is uniform
}

// SLO is a service-level objective on single requests. A zero bound does not
// apply. Attainment is the share of requests that must meet all bounds.
type SLO struct {
	Class      string // priority class it applies to; empty is every class
	TTFT       time.Duration
	TPOT       time.Duration
	E2E        time.Duration
	TTFO       time.Duration
	Attainment float64 // 0..1; 0 means the default, 0.99
}
