package profiles

import "time"

// Scenario is one situation to plan, to simulate or to measure: the same file
// serves size, simulate and bench. Zero fields mean "not said"; the command fills them
// with defaults and prints each with the flag that changes it.
type Scenario struct {
	Model       string
	Accelerator string
	Engine      string // "vllm@0.19"
	Parallel    Parallel
	Workload    Workload
	Also        []Workload // further workloads that come at the same time
	Serving     Serving
	Cluster     Cluster
	Compare     []Comparison // variants that a simulation lays side by side
	SLO         []SLO
	Price       Price
	Experiment  string // "", "none" or "shared-prefix"
	Run         Run
}

// Parallel is how one replica is spread over accelerators.
type Parallel struct{ Tensor, Pipeline, Expert, Data int }

// Price overrides the accelerator's list price.
type Price struct{ USDPerAcceleratorHour float64 }

// Workload describes a stream of sessions, each of one or more requests.
type Workload struct {
	Name    string // of a built-in one, or "custom"
	Arrival Arrival
	// Input is the prompt of a session's first request, the shared prefix
	// included. A later turn adds to what has been said a message as long as
	// another such prompt without its prefix.
	Input   Distribution
	Output  Distribution // generated tokens of each request
	Prefix  Prefix
	Session Session
	Cancel  Cancel
	Tenants int
	Tenant  string             // that all sessions are of, in the place of Tenants
	Classes map[string]float64 // share of sessions by priority class
	Models  map[string]float64 // share of sessions by model on the wire; empty is the scenario's one
	Tools   float64            // share of requests that offer tools, 0..1
	Schema  float64            // share of requests that demand JSON by a schema, 0..1
	Trace   Trace              // requests from a file, in the place of Input, Output, Prefix and Session
}

// ArrivalProcess names how sessions arrive.
type ArrivalProcess string

const (
	Constant     ArrivalProcess = "constant" // evenly spaced
	Poisson      ArrivalProcess = "poisson"  // exponential gaps
	Gamma        ArrivalProcess = "gamma"    // gamma-distributed gaps with the coefficient of variation CV
	Ramp         ArrivalProcess = "ramp"     // the rate goes from FromPerS to ToPerS over Over, and stays there
	Steps        ArrivalProcess = "steps"    // the rates of Curve one after another, the last one for good
	Sine         ArrivalProcess = "sine"     // RatePerS + AmplitudePerS · sin(2π·t/Period)
	TraceArrival ArrivalProcess = "trace"    // the timestamps of the workload's trace
	Closed       ArrivalProcess = "closed"   // Concurrency requests in flight
	Users        ArrivalProcess = "users"    // Count users, each of whom has one request in flight or thinks
)

// Arrival is the process and its parameters. Rates count requests: sessions
// start at the rate ÷ the mean number of turns.
type Arrival struct {
	Process  ArrivalProcess
	RatePerS float64 // constant, poisson, gamma; the mean of sine
	// CV is the coefficient of variation of the gaps: of gamma, and of ramp,
	// steps and sine, where 0 is evenly spaced and 1 Poisson in the changing rate.
	CV               float64
	FromPerS, ToPerS float64       // ramp
	Over             time.Duration // ramp
	Curve            *Curve        // steps; nil for all others
	AmplitudePerS    float64       // sine
	Period           time.Duration // sine
	Speed            float64       // trace: how many times faster than recorded; 0 is 1
	Concurrency      int           // closed
	Count            int           // users
	RampUp           time.Duration // closed and users: time over which their number grows from 1; AtOnce is none
}

// Curve is a rate that changes in steps. It is a pointer in Arrival so that
// arrivals can be compared with ==; nobody changes one.
type Curve struct{ Steps []Step }

// Step is a rate and how long it lasts.
type Step struct {
	RatePerS float64
	For      time.Duration
}

// Session makes sessions of several turns. The zero Session has one.
type Session struct {
	Turns Distribution // requests per session; zero is 1
	Think Delay        // between an answer and the next request of a session, or of a user
}

// Cancel has users leave before their answer is complete.
type Cancel struct {
	Fraction float64 // of requests, 0..1
	After    Delay   // since the request was sent
}

// Trace names a file with recorded requests.
type Trace struct {
	File   string // in YAML relative to the scenario's file; once loaded, to the working directory
	Format string // sharegpt, mooncake, azure, burstgpt, bodies; empty tells by the content
}

// DistributionKind names a distribution of lengths or of times.
type DistributionKind string

const (
	Fixed       DistributionKind = "fixed"       // Mean
	Uniform     DistributionKind = "uniform"     // Min..Max
	Normal      DistributionKind = "normal"      // Mean, StdDev
	Lognormal   DistributionKind = "lognormal"   // Mean, P99
	Zipf        DistributionKind = "zipf"        // Min..Max, with a share proportional to 1/k^Exponent of the k-th value
	Geometric   DistributionKind = "geometric"   // Mean; from 1 on
	Exponential DistributionKind = "exponential" // Mean; of times only
	Empirical   DistributionKind = "empirical"   // Samples
)

// Distribution is a distribution of counts, of tokens or of turns. Samples are
// at least 1.
type Distribution struct {
	Kind     DistributionKind
	Mean     float64
	StdDev   float64
	P99      float64
	Min      float64
	Max      float64
	Exponent float64
	Samples  *Samples // empirical; nil for all others
}

// Samples are measured values, one of which is drawn with equal chances. They
// are a pointer in Distribution so that distributions can be compared with ==;
// nobody changes them.
type Samples struct {
	File   string    // where they come from; empty when the scenario lists them
	Values []float64 // ascending; absent until a file has been read
}

// Delay is a distribution of times. The zero Delay is none.
type Delay struct {
	Kind                        DistributionKind // fixed, uniform, normal, lognormal, exponential
	Mean, StdDev, P99, Min, Max time.Duration
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
