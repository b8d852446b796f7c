package profiles

import "time"

// Serving is how an engine is set up: its own settings, by vLLM's names where
// vLLM has them. Zero fields mean "not said": the engine's default holds.
type Serving struct {
	MaxNumSeqs           int
	MaxNumBatchedTokens  int
	MaxModelLen          int
	BlockSize            int     // tokens
	GPUMemoryUtilization float64 // 0..1
	KVCacheMemory        int64   // bytes per accelerator: skips the memory model
	WeightDType          string
	KVDType              string
	PrefixCaching        string // on, off

	// ChunkedPrefill off admits a prompt only when it fits whole into a step.
	ChunkedPrefill            string // on, off
	LongPrefillTokenThreshold int    // largest chunk of a prompt, tokens
	Policy                    string // fcfs, priority
	// Priorities ranks classes under the priority policy: smaller runs first;
	// a class that is not listed has 0.
	Priorities map[string]int
	// CacheSalt tenant keeps tenants from hitting each other's cached prompts.
	CacheSalt string // none, tenant

	Batching    string // continuous, static
	KVLayout    string // paged, contiguous: a slab of MaxModelLen tokens per request
	Speculative Speculative
	Offload     Offload
}

// Speculative is speculative decoding: each step a draft proposes Tokens tokens,
// which the model verifies in one pass.
type Speculative struct {
	Tokens     int     // proposed per step; 0 is off
	Acceptance float64 // chance that a proposed token is right when all before it are, 0..1
	DraftCost  float64 // time of one draft token ÷ that of a step of the model with one sequence
}

// Offload keeps the blocks that the accelerator evicts in the host's memory.
type Offload struct {
	MemoryBytes     int64   // per replica; 0 is off
	BandwidthPerS   float64 // bytes per second and accelerator, each way
	LatencyPerBlock time.Duration
}

// Cluster is what serves a scenario in a simulation, beyond one engine. Zero
// fields take defaults.
type Cluster struct {
	Replicas  int    // of the scenario's own model, accelerator, engine and settings
	Pools     []Pool // kinds of replicas, in the place of Replicas
	Router    Router
	Gateway   Gateway
	Link      Link // between the pools of a disaggregated cluster
	Autoscale Autoscale
	Failures  []Failure
}

// Pool is a number of replicas of one kind. What is not said is as in the scenario.
type Pool struct {
	Name        string
	Replicas    int
	Role        string // serve, prefill, decode
	Accelerator string
	Engine      string
	Parallel    Parallel
	Serving     Serving
	Slowdown    float64 // factor on the time of its steps; 0 is 1
}

// Router picks the replica of a request.
type Router struct {
	Policy string // least_loaded, round_robin, prefix_affinity
	// LoadCap bounds prefix affinity: a replica is not picked for its cache while
	// it has more than LoadCap times the mean number of requests, plus one.
	LoadCap float64 // 0 is the default; below 0 is no bound
}

// Gateway is what stands before the replicas.
type Gateway struct {
	Limits   Limits        // of each tenant
	MaxQueue int           // requests that wait for a replica; beyond, the least urgent is shed
	InFlight int           // requests at one replica, beyond which others wait in the gateway; 0 is no limit
	Timeout  time.Duration // to the first token, after which a try counts as failed
	Retry    Retry
	Fallback Fallback
	// PropagateCancel off has replicas go on with answers whose users have left.
	PropagateCancel string // on, off
}

// Limits bound one tenant; 0 is no limit.
type Limits struct{ RPM, InputTPM, OutputTPM, Concurrent int64 }

// Retry sends a request once more that failed before its first token.
type Retry struct {
	Attempts int           // in all; 0 is 1
	Budget   float64       // retries ÷ requests over the last ten seconds, at most; 0 is no bound
	Backoff  time.Duration // before the second try, doubled for each further one, jittered by half
}

// Fallback is a provider that answers what the own replicas do not. Its times
// are constant.
type Fallback struct {
	TTFT          time.Duration // 0: there is no fallback
	TPOT          time.Duration
	Concurrent    int // requests at once; 0 is no limit
	USDPer1MIn    float64
	USDPer1MOut   float64
	WhenSaturated bool // takes what the gateway would shed, too
}

// Link carries KV caches between replicas.
type Link struct {
	BandwidthPerS float64 // bytes per second and accelerator; 0 is the accelerator's network
	Latency       time.Duration
}

// Autoscale changes the number of replicas of the first pool.
type Autoscale struct {
	Metric     string // queue_depth, kv_usage, utilization; empty: none
	Target     float64
	Min, Max   int
	Interval   time.Duration // between decisions
	StartDelay time.Duration // from a decision to a replica that serves
	ScaleDown  time.Duration // how long less must have been enough
}

// Failure is something that goes wrong during a run.
type Failure struct {
	Kind    string // crash, slow, outage
	Replica int    // which, from 0; of crash and slow
	Target  string // replicas or fallback; of outage
	At      time.Duration
	For     time.Duration // 0: to the end
	Factor  float64       // on the time of steps; of slow
}
