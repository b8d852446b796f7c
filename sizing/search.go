package sizing

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/llmctl/llmctl/internal/shell"
	"github.com/llmctl/llmctl/profiles"
)

// SearchSchema is the version of a search's JSON.
const SearchSchema = "llmctl/search/v1"

// SearchRequest is what to search for: a request, whose settings that are said
// stay as they are, and the accelerators to try, all known ones when empty.
type SearchRequest struct {
	Request
	Accelerators []string
}

// Search is the answer: which configurations serve the load, which of them no
// other beats, and why each of the rest does not. Its JSON is llmctl/search/v1.
type Search struct {
	Schema     string      `json:"schema"`
	Feasible   bool        `json:"feasible"`
	Inputs     SearchInput `json:"inputs"`
	Tried      int         `json:"tried"`
	Cheapest   *Option     `json:"cheapest,omitempty"`          // of those with a price
	Published  *Option     `json:"cheapest_own,omitempty"`      // of those that store the model and its cache as published
	Measured   *Option     `json:"cheapest_measured,omitempty"` // of those whose times rest on measurements of the engine on such accelerators
	PerKind    []Option    `json:"per_accelerator"`             // the cheapest of each accelerator with a price, cheapest first
	Front      []Option    `json:"front"`                       // cheapest first
	Unpriced   []Option    `json:"unpriced"`                    // the best of each accelerator without a price, by tokens per accelerator
	Options    []Option    `json:"options"`                     // all that serve the load
	Rejections []Rejection `json:"rejected"`
	Prices     []Price     `json:"prices"` // of what is shown
	Warnings   []Warning   `json:"warnings"`
}

// Price is what one accelerator takes, by whom and when.
type Price struct {
	Accelerator string  `json:"accelerator"`
	USDPerHour  float64 `json:"usd_per_accelerator_hour"`
	Source      string  `json:"price_source"`
	Date        string  `json:"price_date,omitempty"`
}

// SearchInput is what all configurations have in common.
type SearchInput struct {
	Model             string   `json:"model"`
	Engine            string   `json:"engine,omitempty"`
	Workload          string   `json:"workload,omitempty"`
	RPS               float64  `json:"rps,omitempty"`
	Concurrency       int      `json:"concurrency,omitempty"`
	SLO               SLO      `json:"slo"`
	TargetUtilization float64  `json:"target_utilization"`
	Accelerators      []string `json:"accelerators"`
}

// Configuration is one point of the search. Of a rejection, what is absent makes
// no difference: all of its values fail alike.
type Configuration struct {
	Accelerator         string `json:"accelerator"`
	TensorParallel      int    `json:"tensor_parallel,omitempty"`
	PipelineParallel    int    `json:"pipeline_parallel,omitempty"`
	DataParallel        int    `json:"data_parallel,omitempty"`   // ranks with attention and a cache of their own
	ExpertParallel      int    `json:"expert_parallel,omitempty"` // ranks that divide whole experts; 0 when their width is divided
	WeightDType         string `json:"weight_dtype,omitempty"`
	KVDType             string `json:"kv_dtype,omitempty"`
	MaxNumSeqs          int    `json:"max_num_seqs,omitempty"`
	MaxNumBatchedTokens int    `json:"max_num_batched_tokens,omitempty"`
}

// Option is a configuration that serves the load.
type Option struct {
	Configuration
	Replicas       int     `json:"replicas"`
	Accelerators   int     `json:"accelerators"`
	MaxRPS         float64 `json:"max_rps"` // per replica
	Bound          string  `json:"bound"`
	TTFT           float64 `json:"ttft_p99_s"`
	TPOT           float64 `json:"tpot_p99_s"`
	UserTokensPS   float64 `json:"user_tokens_per_s"`                   // 1 ÷ mean TPOT
	TokensPSPerAcc float64 `json:"output_tokens_per_s_per_accelerator"` // at the largest rate
	USDPerHour     float64 `json:"usd_per_hour,omitempty"`
	USDPer1MOut    float64 `json:"usd_per_1m_output_tokens,omitempty"`
	// Quality names what is stored in fewer bits than the model is published in:
	// the search does not judge what that does to the answers.
	Quality []string `json:"quality_not_judged,omitempty"`
	// Error is how far off times were where they could be compared with measured
	// ones, Measured whether any were of this engine on this family of accelerators.
	Error    ModelError   `json:"error"`
	Measured bool         `json:"measured"`
	Money    *OptionMoney `json:"money,omitempty"`    // when there is something to compare with
	Warnings []string     `json:"warnings,omitempty"` // codes of its plan's
	Command  string       `json:"command,omitempty"`  // that plans this option
	args     []string
	plan     *Plan // of an option that is planned in full
	found    *evaluated
	unusual  int // limits that are not the engine's default: among equals the fewest
	order    int // in which it was tried: among those the first
}

// Wrapped is the command over lines of at most width columns, for a shell.
func (o Option) Wrapped(width int) string { return shell.Wrap(o.args, width) }

// Rejection is a configuration that does not serve the load, or several that
// fail alike, and why.
type Rejection struct {
	Configuration
	Configurations int    `json:"configurations"` // that it stands for
	Code           string `json:"code"`           // no-rate, parallel, memory, slo, load or refused
	Reason         string `json:"reason"`

	off   float64               // how far a lone request is beyond the objective, where it breaks it
	raise func() []RelaxedBound // of the objective that it breaks
}

// Explore searches. Progress, if any, is told the number of groups of
// configurations that are done, and of all; it is called by one goroutine at a
// time. The result does not depend on the number of processors. An error is bad
// input, or that of ctx.
func Explore(ctx context.Context, r SearchRequest, progress func(done, all int)) (*Search, error) {
	x, err := newExplorer(r)
	if err != nil {
		return nil, err
	}
	found, err := x.tryAll(ctx, progress)
	if err != nil {
		return nil, err
	}
	if raised := found.nearest(x); len(raised) > 0 {
		// Nothing meets an objective that nobody asked for: search for the nearest
		// that something meets, the same for all.
		in := found.Inputs.SLO
		l := limits{ttft: in.TTFT, tpot: in.TPOT, e2e: in.E2E}
		l.take(raised)
		slo := profiles.SLO{TTFT: duration(l.ttft), TPOT: duration(l.tpot), E2E: duration(l.e2e)}
		if in.Attainment != profiles.DefaultAttainment {
			slo.Attainment = in.Attainment
		}
		r.Scenario.SLO = []profiles.SLO{slo}
		if x, err = newExplorer(r); err != nil {
			return nil, err
		}
		if found, err = x.tryAll(ctx, progress); err != nil {
			return nil, err
		}
		found.Inputs.SLO.Given, found.Inputs.SLO.Relaxed = false, raised
		found.Warnings = append(found.Warnings, Warning{"default-slo", describeRelaxed(raised, in.Attainment) + "; --slo sets yours"})
	}
	if err := found.settle(ctx, x); err != nil {
		return nil, err
	}
	return found, nil
}

// nearest is what to raise of a default objective when nothing meets it: the
// bounds that the configuration breaks which misses them by least.
func (f *Search) nearest(x *explorer) []RelaxedBound {
	if x.sloGiven || len(f.Options) > 0 {
		return nil
	}
	least, raise := math.Inf(1), func() []RelaxedBound { return nil }
	for _, r := range f.Rejections {
		if r.raise != nil && r.off < least {
			least, raise = r.off, r.raise
		}
	}
	return raise()
}

// tryAll evaluates every job, and joins the results in order.
func (x *explorer) tryAll(ctx context.Context, progress func(done, all int)) (*Search, error) {
	results := make([]outcome, len(x.jobs))
	var told sync.Mutex
	done := 0
	each(ctx, len(x.jobs), func(i int) {
		results[i] = x.try(ctx, x.jobs[i])
		told.Lock()
		defer told.Unlock()
		if done++; progress != nil {
			progress(done, len(x.jobs))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Search{Schema: SearchSchema, PerKind: []Option{}, Front: []Option{}, Unpriced: []Option{}, Options: []Option{}, Rejections: []Rejection{}, Prices: []Price{}, Warnings: []Warning{}}
	var refused error
	var common *Inputs
	for _, r := range results {
		s.Options = append(s.Options, r.options...)
		s.Rejections = append(s.Rejections, r.rejections...)
		if refused == nil {
			refused = r.refused
		}
		if common == nil {
			common = r.common
		}
	}
	if common == nil && refused != nil {
		return nil, refused // nothing got as far as being evaluated
	}
	s.Inputs = x.common(common)
	s.Tried = len(s.Options)
	for _, r := range s.Rejections {
		s.Tried += r.Configurations
	}
	for i := range s.Options {
		s.Options[i].order = i
	}
	return s, nil
}

// common is what all configurations share; nil when no accelerator could be
// tried.
func (x *explorer) common(in *Inputs) SearchInput {
	c := SearchInput{Model: x.model.Name, Accelerators: x.names}
	if in != nil {
		c.Engine, c.Workload, c.RPS, c.Concurrency = in.Engine, in.Workload, in.RPS, in.Concurrency
		c.SLO, c.TargetUtilization = in.SLO, in.TargetUtilization
	}
	return c
}

// each calls f with 0 to n − 1, on as many goroutines as there are processors,
// until ctx ends.
func each(ctx context.Context, n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// For is the request that plans a configuration.
func (r SearchRequest) For(c Configuration) Request { return r.planFor(c) }

// planFor is the request that plans a configuration: everything else as it was
// searched for.
func (r SearchRequest) planFor(c Configuration) Request {
	plan := r.Request
	plan.Scenario.Accelerator = c.Accelerator
	parallel := &plan.Scenario.Parallel
	parallel.Tensor, parallel.Pipeline = c.TensorParallel, c.PipelineParallel
	if c.DataParallel > 1 {
		parallel.Data = c.DataParallel
	}
	if c.ExpertParallel > 0 {
		parallel.Expert = c.ExpertParallel
	}
	plan.WeightDType, plan.KVDType = c.WeightDType, c.KVDType
	plan.MaxNumSeqs, plan.MaxNumBatchedTokens = c.MaxNumSeqs, c.MaxNumBatchedTokens
	return plan
}

// describeSLO writes an objective as --slo takes it.
func describeSLO(s SLO) string {
	slo := profiles.SLO{TTFT: duration(s.TTFT), TPOT: duration(s.TPOT), E2E: duration(s.E2E), Attainment: s.Attainment}
	return slo.String()
}
