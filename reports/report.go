package reports

import (
	"encoding/json"

	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// Simulate is the kind of a run in virtual time, which has no client.
const Simulate = "simulate"

// Report is what is known about a run once its records are summed up, in the
// form of llmctl/run/v1 (docs/results.md). Times are in seconds, rates per
// second; nil pointers are what was not measured.
type Report struct {
	Schema      string             `json:"schema"`
	Kind        string             `json:"kind"`
	ID          string             `json:"id,omitempty"`
	Asked       string             `json:"asked,omitempty"`
	Defaults    []record.Default   `json:"defaults,omitempty"`
	Scenario    json.RawMessage    `json:"scenario,omitempty"`
	Target      record.Target      `json:"target"`
	Environment record.Environment `json:"environment"`
	Interrupted bool               `json:"interrupted,omitempty"`
	ClosedLoop  bool               `json:"closed_loop,omitempty"`

	Window       Window          `json:"window"`
	Requests     Requests        `json:"requests"`
	Rates        Rates           `json:"rates"`
	Tokens       Tokens          `json:"tokens"`
	InputLength  *Lengths        `json:"input_length,omitempty"`
	OutputLength *Lengths        `json:"output_length,omitempty"`
	Latencies                    // ttft_s … lag_s
	SLO          *SLO            `json:"slo,omitempty"`
	PrefixCache  *PrefixCache    `json:"prefix_cache,omitempty"`
	Server       *Server         `json:"server,omitempty"`
	Timeline     *Series         `json:"timeline,omitempty"`
	Bottleneck   []Bottleneck    `json:"bottleneck,omitempty"` // of a simulated run
	Gateway      *record.Gateway `json:"gateway,omitempty"`    // of a simulated cluster that has one
	GPUs         []GPU           `json:"gpu,omitempty"`
	Cost         *Cost           `json:"cost,omitempty"`
	Client       Client          `json:"client"`

	Histograms map[string]*stats.Bins `json:"histograms,omitempty"` // by the key of the distribution
	Asserts    []AssertResult         `json:"asserts"`
	Experiment *Experiment            `json:"experiment,omitempty"`
	Warnings   []record.Warning       `json:"warnings"`
}

// Window is the measured interval; the steady part is absent when nothing was
// in flight.
type Window struct {
	StartS       float64  `json:"start_s"`
	EndS         float64  `json:"end_s"`
	SteadyStartS *float64 `json:"steady_start_s,omitempty"`
	SteadyEndS   *float64 `json:"steady_end_s,omitempty"`
}

// Requests counts the requests of the window by outcome.
type Requests struct {
	Scheduled int                    `json:"scheduled"`
	Sent      int                    `json:"sent"`
	OK        int                    `json:"ok"`
	Failed    int                    `json:"failed"`
	Cancelled int                    `json:"cancelled"`
	Cut       int                    `json:"cut"`
	Dropped   int                    `json:"dropped"`
	Failures  map[record.Failure]int `json:"failures"`
	// FailureDetails is the most frequent explanation of each class.
	FailureDetails map[record.Failure]string `json:"failure_details,omitempty"`

	FailedShare *float64 `json:"failed_share,omitempty"` // failed ÷ (ok + failed)
	ShortOutput int      `json:"short_output"`
	MaxFailures float64  `json:"max_failures"` // share above which the run is not trustworthy
}

// Rates are what happened inside the window, whoever it belongs to, divided by
// its length.
type Rates struct {
	AskedRPS               *float64 `json:"asked_rps,omitempty"`   // absent where no single rate was asked for
	OfferedRPS             *float64 `json:"offered_rps,omitempty"` // absent in a closed loop
	SentRPS                *float64 `json:"sent_rps,omitempty"`
	CompletedRPS           *float64 `json:"completed_rps,omitempty"`
	OutputTokensPerS       *float64 `json:"output_tokens_per_s,omitempty"`
	TotalTokensPerS        *float64 `json:"total_tokens_per_s,omitempty"`    // absent when prompt tokens are unknown
	UserTokensPerSP50      *float64 `json:"user_tokens_per_s_p50,omitempty"` // 1 ÷ TPOT of one request
	UserTokensPerSP10      *float64 `json:"user_tokens_per_s_p10,omitempty"` // what nine of ten requests exceed: 1 ÷ p90 of TPOT
	SteadyCompletedRPS     *float64 `json:"steady_completed_rps,omitempty"`
	SteadyOutputTokensPerS *float64 `json:"steady_output_tokens_per_s,omitempty"`
	JoulesPerOutputToken   *float64 `json:"joules_per_output_token,omitempty"` // of all GPUs that were read
}

// Tokens are totals over the requests of the window.
type Tokens struct {
	Prompt *int `json:"prompt,omitempty"`
	Cached *int `json:"cached,omitempty"`
	Output *int `json:"output,omitempty"`
	// Unread are tokens that a simulated replica generated after their users had
	// left; known where requests were cancelled.
	Unread *int   `json:"unread,omitempty"`
	Source string `json:"source,omitempty"` // usage, estimated, chunks or mixed
	// FirstEventAssumed is the number of ok requests whose first event was
	// taken to hold one token because the server did not say.
	FirstEventAssumed int `json:"first_event_assumed"`
}

// Lengths compares the lengths asked for with those achieved, in tokens over
// the ok requests.
type Lengths struct {
	AskedMean *float64 `json:"asked_mean,omitempty"`
	AskedP50  *float64 `json:"asked_p50,omitempty"`
	Mean      *float64 `json:"mean,omitempty"`
	P50       *float64 `json:"p50,omitempty"`
}

// Latencies are the distributions of the window's requests.
type Latencies struct {
	TTFT             *stats.Dist `json:"ttft_s,omitempty"`
	TTFTFromSchedule *stats.Dist `json:"ttft_from_schedule_s,omitempty"`
	TTFO             *stats.Dist `json:"ttfo_s,omitempty"`
	TPOT             *stats.Dist `json:"tpot_s,omitempty"`
	ICL              *stats.Dist `json:"icl_s,omitempty"`
	ITL              *stats.Dist `json:"itl_s,omitempty"` // only where tokens per event are known
	E2E              *stats.Dist `json:"e2e_s,omitempty"`
	E2EToClose       *stats.Dist `json:"e2e_to_close_s,omitempty"`
	Lag              *stats.Dist `json:"lag_s,omitempty"`
}

// PrefixCache is how much of the prompts came from a prefix cache.
type PrefixCache struct {
	HitRate float64 `json:"hit_rate"` // cached ÷ prompt tokens
	Source  string  `json:"source"`   // usage or server
}

// Cost is the price of tokens at the measured throughput, and at that of
// requests that met the SLO.
type Cost struct {
	USDPerHour            float64  `json:"usd_per_hour"`
	Source                string   `json:"source,omitempty"`
	USDPer1MOutput        *float64 `json:"usd_per_1m_output_tokens,omitempty"`
	USDPer1MTotal         *float64 `json:"usd_per_1m_total_tokens,omitempty"`
	USDPer1MOutputGoodput *float64 `json:"usd_per_1m_output_tokens_at_goodput,omitempty"`
	GoodOutputTokensPerS  *float64 `json:"good_output_tokens_per_s,omitempty"`
}

// Client is whether the measuring side can be believed.
type Client struct {
	Limited     bool     `json:"limited"`
	Reasons     []string `json:"reasons"`
	CPUFraction *float64 `json:"cpu_fraction,omitempty"`
	GCPauseP99S *float64 `json:"gc_pause_p99_s,omitempty"`
	LagLimitS   *float64 `json:"lag_limit_s,omitempty"` // lag p99 above it makes the run client-limited

	SchedLatencyP99S *float64 `json:"sched_latency_p99_s,omitempty"` // wait of a goroutine for a thread
	CPUSteal         *float64 `json:"cpu_steal,omitempty"`           // share of the machine's time that went to others
	PeakRSSBytes     *int     `json:"peak_rss_bytes,omitempty"`
	PeakHeapBytes    *int     `json:"peak_heap_bytes,omitempty"`
	PeakGoroutines   *int     `json:"peak_goroutines,omitempty"`
}

// Gauge is a server's gauge over the window.
type Gauge struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// Server is what the target's metrics pages said over the window. Counters are
// differences.
type Server struct {
	Pages            int      `json:"pages"`           // that were read
	Samples          int      `json:"samples"`         // of all pages, inside the window
	Queue            *Gauge   `json:"queue,omitempty"` // requests waiting
	Running          *Gauge   `json:"running,omitempty"`
	KVUsage          *Gauge   `json:"kv_usage,omitempty"` // 0..1
	Preemptions      *float64 `json:"preemptions,omitempty"`
	PromptTokens     *float64 `json:"prompt_tokens,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
	PrefixQueries    *float64 `json:"prefix_queries,omitempty"` // tokens
	PrefixHits       *float64 `json:"prefix_hits,omitempty"`    // tokens

	Speculation *Speculation       `json:"speculation,omitempty"`
	Finished    map[string]float64 `json:"finished,omitempty"` // requests that ended, by the server's reason

	TTFT   *ServerTimes `json:"ttft_s,omitempty"`
	TPOT   *ServerTimes `json:"tpot_s,omitempty"`
	ITL    *ServerTimes `json:"itl_s,omitempty"`
	Queued *ServerTimes `json:"queue_s,omitempty"`
	E2E    *ServerTimes `json:"e2e_s,omitempty"`

	// Restarted means that a counter fell during the window, so that no growth
	// is known.
	Restarted bool `json:"restarted,omitempty"`
}

// Speculation is how well the server guessed its own output.
type Speculation struct {
	AcceptanceRate *float64 `json:"acceptance_rate,omitempty"` // accepted ÷ proposed tokens
	TokensPerStep  *float64 `json:"tokens_per_step,omitempty"` // of a step that speculated, the one that is always right included
	DraftTokens    *float64 `json:"draft_tokens,omitempty"`
	AcceptedTokens *float64 `json:"accepted_tokens,omitempty"`
}

// ServerTimes is what grew of a histogram of the server's own. Percentiles are
// interpolated in its buckets, and absent beyond the last one.
type ServerTimes struct {
	N    float64  `json:"n"`
	Mean *float64 `json:"mean,omitempty"`
	P50  *float64 `json:"p50,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
}

// GPU is what one GPU of the client's machine did over the window.
type GPU struct {
	Name            string   `json:"name"`
	PowerW          *Gauge   `json:"power_w,omitempty"`
	Utilization     *Gauge   `json:"utilization,omitempty"` // 0..1
	MemoryUsedBytes *Gauge   `json:"memory_used_bytes,omitempty"`
	SMClockHz       *Gauge   `json:"sm_clock_hz,omitempty"`
	MemoryClockHz   *Gauge   `json:"memory_clock_hz,omitempty"`
	TemperatureC    *Gauge   `json:"temperature_c,omitempty"`
	EnergyJ         *float64 `json:"energy_j,omitempty"`
	EnergySource    string   `json:"energy_source,omitempty"` // counter or power
}
