package sizing

// Schema is the version of a plan's JSON.
const Schema = "llmctl/plan/v1"

// Plan is the answer. Its JSON is llmctl/plan/v1: SI units in the keys, absent
// values left out.
type Plan struct {
	Schema       string        `json:"schema"`
	Feasible     bool          `json:"feasible"`
	Reasons      []string      `json:"reasons,omitempty"`      // why not, and the nearest that is
	Alternatives []Alternative `json:"alternatives,omitempty"` // smallest change first, when not feasible
	Inputs       Inputs        `json:"inputs"`
	Model        ModelFacts    `json:"model"`
	Memory       Memory        `json:"memory"`
	Performance  *Performance  `json:"performance,omitempty"`
	Fleet        *Fleet        `json:"plan,omitempty"`
	Scaling      *Scaling      `json:"scaling,omitempty"`
	Pools        *Pools        `json:"pools,omitempty"` // the same load with prefill and decode apart
	Day          *Day          `json:"day,omitempty"`
	API          *API          `json:"api,omitempty"`
	Derivation   []Derivation  `json:"derivation"`
	Assumptions  []Assumption  `json:"assumptions"`
	Warnings     []Warning     `json:"warnings"`
}

// Inputs are all values that the plan rests on, defaults included.
type Inputs struct {
	Model                 string  `json:"model"`
	Accelerator           string  `json:"accelerator"`
	Engine                string  `json:"engine"`
	EngineRules           string  `json:"engine_rules,omitempty"` // the version whose rules hold, where the engine is newer than the data
	TensorParallel        int     `json:"tensor_parallel"`
	PipelineParallel      int     `json:"pipeline_parallel"`
	ExpertParallel        int     `json:"expert_parallel,omitempty"` // ranks that divide the experts whole; 0 when their width is divided
	DataParallel          int     `json:"data_parallel"`             // ranks with attention and a pool of their own
	WeightDType           string  `json:"weight_dtype"`
	KVDType               string  `json:"kv_dtype"`
	PrefixCaching         bool    `json:"prefix_caching"`
	RPS                   float64 `json:"rps,omitempty"`
	Concurrency           int     `json:"concurrency,omitempty"`
	Count                 int     `json:"count,omitempty"` // accelerators at hand
	Spare                 int     `json:"spare,omitempty"` // replicas that may fail
	TransferBandwidth     float64 `json:"transfer_bandwidth_bytes_per_s,omitempty"`
	Workload              string  `json:"workload"`
	InputTokens           float64 `json:"input_tokens"`  // mean
	OutputTokens          float64 `json:"output_tokens"` // mean
	PrefixHitRate         float64 `json:"prefix_hit_rate"`
	GPUMemoryUtilization  float64 `json:"gpu_memory_utilization"`
	BlockSize             int     `json:"block_size"`
	MaxModelLen           int     `json:"max_model_len"`
	MaxNumSeqs            int     `json:"max_num_seqs"`
	MaxNumBatchedTokens   int     `json:"max_num_batched_tokens"`
	SLO                   SLO     `json:"slo"`
	TargetUtilization     float64 `json:"target_utilization"`
	USDPerAcceleratorHour float64 `json:"usd_per_accelerator_hour,omitempty"`
	PriceSource           string  `json:"price_source,omitempty"`
	PriceDate             string  `json:"price_date,omitempty"`
}

// SLO is the objective that the plan is made for, in seconds.
type SLO struct {
	TTFT       float64 `json:"ttft_s,omitempty"`
	TPOT       float64 `json:"tpot_s,omitempty"`
	E2E        float64 `json:"e2e_s,omitempty"`
	Attainment float64 `json:"attainment"`
	Given      bool    `json:"given"` // by the user, so that missing it is a failure

	Relaxed []RelaxedBound `json:"relaxed,omitempty"` // of a default objective that lone requests break
}

// ModelFacts are sizes of the whole model.
type ModelFacts struct {
	Parameters              int64 `json:"parameters"`
	ActiveParameters        int64 `json:"active_parameters"`
	VisionParameters        int64 `json:"vision_parameters,omitempty"`         // of towers and their projectors, beside Parameters
	KVBytesPerToken         int64 `json:"kv_bytes_per_token"`                  // of all layers
	GrowingKVBytesPerToken  int64 `json:"kv_bytes_per_token_beyond_window"`    // of layers without a window
	StateBytesPerSequence   int64 `json:"state_bytes_per_sequence,omitempty"`  // of linear attention
	KVBytesOfLongestRequest int64 `json:"kv_bytes_at_max_model_len,omitempty"` // windows applied
}

// Memory is the budget of one accelerator; tokens and concurrency are those of
// a replica, as the engine logs them.
type Memory struct {
	Stage           int     `json:"pipeline_stage,omitempty"` // from 0: the one with the fewest blocks
	TotalBytes      int64   `json:"total_bytes"`
	WeightsBytes    int64   `json:"weights_bytes"`
	ActivationBytes int64   `json:"activation_bytes,omitempty"`
	NonTorchBytes   int64   `json:"non_torch_bytes,omitempty"`
	CUDAGraphBytes  int64   `json:"cuda_graph_bytes,omitempty"`
	GraphsOutside   bool    `json:"cuda_graph_outside_budget,omitempty"` // graphs are captured beside the budget, not taken from it
	ReserveBytes    int64   `json:"reserve_bytes,omitempty"`
	KVCacheBytes    int64   `json:"kv_cache_bytes,omitempty"`             // of PlanMemory, negative: so much is missing
	MissingBytes    int64   `json:"missing_bytes,omitempty"`              // when weights and overheads leave no pool
	ErrorBytes      int64   `json:"kv_cache_error_bytes,omitempty"`       // typical distance of the pool from engine logs
	FirstStageBytes int64   `json:"first_stage_kv_cache_bytes,omitempty"` // pool of a pipeline's first stage, where another one decides
	KVCacheBlocks   int64   `json:"kv_cache_blocks,omitempty"`
	KVCacheTokens   int64   `json:"kv_cache_tokens,omitempty"`
	MaxConcurrency  float64 `json:"max_concurrency,omitempty"` // requests of max_model_len
	MixSequences    float64 `json:"mix_sequences,omitempty"`   // requests of the workload, on average, at once
	Given           bool    `json:"kv_cache_given,omitempty"`

	*PoolRange // of a pool that is computed and has an error
}

// Performance is that of one replica at the planned load.
type Performance struct {
	RPS              float64    `json:"rps"`
	TTFT             Quantiles  `json:"ttft_s"`
	TPOT             Quantiles  `json:"tpot_s"`
	E2E              Quantiles  `json:"e2e_s"`
	Batch            float64    `json:"batch"` // sequences in decode, mean
	PrefillTokensPS  float64    `json:"prefill_tokens_per_s"`
	OutputTokensPS   float64    `json:"output_tokens_per_s"`
	MaxRPS           float64    `json:"max_rps"` // largest rate that meets the objective
	Bound            string     `json:"bound"`   // what stops a higher rate
	DominantTerm     string     `json:"dominant_term"`
	RooflineFraction float64    `json:"roofline_fraction"` // ideal time of the decode step over predicted
	StepLimit        float64    `json:"step_limit_s"`      // roofline limit of the decode step
	Error            ModelError `json:"error"`
}

// Quantiles of a time in seconds.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// Fleet is what to buy. The prices of a million tokens each divide the whole bill
// by one kind of tokens, and must not be added.
type Fleet struct {
	Replicas     int     `json:"replicas"`
	Accelerators int     `json:"accelerators"`
	Utilization  float64 `json:"utilization"` // of the largest rate

	*ReplicaRange // of a number that the error of the forecast moves

	Needed                  int     `json:"needed_replicas,omitempty"` // without the spare ones
	Spare                   int     `json:"spare_replicas,omitempty"`  // that may fail
	UtilizationWithFailures float64 `json:"utilization_with_failures,omitempty"`

	RPS        float64 `json:"rps"`
	USDPerHour float64 `json:"usd_per_hour,omitempty"`
	TokenPrices
	USDPerRequest float64 `json:"usd_per_request,omitempty"`
	USDPerMonth   float64 `json:"usd_per_month,omitempty"` // of 730 hours
}

// Derivation is how one number was reached, fit to be read aloud. Substituted is
// the formula with its numbers, as arithmetic that gives Value within the
// rounding of what it shows: + − × ÷ √ ( ) ⌈ ⌉ ⌊ ⌋ min and max of numbers with
// units, of which those with a decimal point and four or more significant digits
// are rounded. It is empty where the number comes from a search, a mean over many
// points or a setting; Note then says which.
//
// Key is the path of the value in the plan's JSON, empty for steps on the way.
type Derivation struct {
	Name        string  `json:"name"`
	Key         string  `json:"key,omitempty"`
	Formula     string  `json:"formula"`
	Substituted string  `json:"substituted,omitempty"`
	Note        string  `json:"note,omitempty"`
	Value       float64 `json:"value"`
	Unit        string  `json:"unit"`
	Source      string  `json:"source"`

	Group Group `json:"group"`
}

// Group is what a derivation is about.
type Group string

// Groups in the order in which one would speak of them.
const (
	GroupModel    Group = "model"
	GroupMemory   Group = "memory"
	GroupCapacity Group = "capacity"
	GroupTime     Group = "time"
	GroupReplicas Group = "replicas"
	GroupMoney    Group = "money"
)

// Groups are all of them, in this order.
var Groups = []Group{GroupModel, GroupMemory, GroupCapacity, GroupTime, GroupReplicas, GroupMoney}

// Assumption is a default that shaped the answer, and the flag that changes it.
type Assumption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Flag  string `json:"flag"`
}

// Warning is something to know before believing the plan.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
