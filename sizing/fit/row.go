package fit

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Request is a row as the request that `llmctl size` would take. Fields that the
// row leaves blank take the defaults of the engine; an engine version "?" is the
// newest that llmctl knows. model names what profiles.LoadModel takes.
func (r Row) Request(model string) (sizing.Request, error) {
	q := sizing.Request{WeightDType: r.Text("weight_dtype"), KVDType: r.Text("kv_dtype")}
	q.Scenario = profiles.Scenario{Model: model, Accelerator: r.Text("accelerator"), Engine: engineRef(r.Text("engine"))}
	for _, f := range []struct {
		name string
		to   *int
	}{
		{"tp", &q.Scenario.Parallel.Tensor}, {"pp", &q.Scenario.Parallel.Pipeline},
		{"ep", &q.Scenario.Parallel.Expert}, {"dp", &q.Scenario.Parallel.Data},
		{"max_num_seqs", &q.MaxNumSeqs}, {"max_num_batched_tokens", &q.MaxNumBatchedTokens},
	} {
		n, err := r.count(f.name)
		if err != nil {
			return q, err
		}
		*f.to = n
	}
	input, err := r.needed("isl", 1)
	if err != nil {
		return q, err
	}
	output, err := r.needed("osl", 2)
	if err != nil {
		return q, err
	}
	q.Scenario.Workload.Input = profiles.Distribution{Kind: profiles.Fixed, Mean: input}
	q.Scenario.Workload.Output = profiles.Distribution{Kind: profiles.Fixed, Mean: output}
	return q, nil
}

// engineRef turns "vllm@?" into "vllm", and drops what follows a version's
// numbers ("0.5.6.post2"), which engines.yaml does not tell apart.
func engineRef(text string) string {
	text = strings.TrimSuffix(text, "@?")
	text, _, _ = strings.Cut(text, ".post")
	return text
}

// shortestMS and longestMS bound a time per output token, in milliseconds: no
// accelerator reads even a small model in less, and nobody waits a minute for a
// token. What is outside is in another unit, or no measurement.
const shortestMS, longestMS = 0.05, 60_000

// Point is a row as a point to fit, with the load and the limits that `llmctl
// size` would plan with.
func (r Row) Point(model string) (Point, error) { return r.point(model, sizing.NewTimeModel) }

func (r Row) point(model string, timeModel func(sizing.Request) (sizing.TimeModel, error)) (Point, error) {
	for _, name := range []string{"model", "accelerator", "engine"} {
		if r.Text(name) == "" {
			return Point{}, fmt.Errorf("%s%s is missing", r.at(), name)
		}
	}
	tpot, ok, err := r.between("tpot_ms", shortestMS, longestMS)
	if err != nil {
		return Point{}, err
	}
	if !ok {
		return Point{}, fmt.Errorf("%stpot_ms is missing", r.at())
	}
	ttft, _, err := r.between("ttft_ms", 0, 1e7)
	if err != nil {
		return Point{}, err
	}
	q, err := r.Request(model)
	if err != nil {
		return Point{}, err
	}
	t, err := timeModel(q)
	if err != nil {
		return Point{}, fmt.Errorf("%s%w", r.at(), err)
	}
	name, _, _ := strings.Cut(t.Inputs.Engine, "@")
	family := cost.Family(t.Device.Name)
	p := Point{
		ID: r.Text("id"), Model: t.Inputs.Model, Engine: cost.Imitated(name, family), Family: family,
		Facts: t.Facts, Device: t.Device, Load: t.Load, TPOT: tpot / 1e3, TTFT: ttft / 1e3,
	}
	if p.ID == "" {
		p.ID = fmt.Sprintf("line %d", r.Line)
	}
	return p, r.load(&p)
}

// load reads how the point was loaded: concurrency, or load_kind and load_value.
func (r Row) load(p *Point) error {
	cached, _, err := r.number("cached", 0)
	if err != nil {
		return err
	}
	if cached >= p.Load.Input {
		return fmt.Errorf("%scached %g is not less than isl %g", r.at(), cached, p.Load.Input)
	}
	p.Load.Cached = cached
	if p.Load.Rounds, _, err = r.number("rounds", 1); err != nil {
		return err
	}
	concurrency, closed, err := r.number("concurrency", 1)
	if err != nil {
		return err
	}
	if !closed && strings.HasPrefix(r.Text("load_kind"), "concurrency") {
		if concurrency, err = r.needed("load_value", 1); err != nil {
			return err
		}
		closed = true
	}
	if closed {
		p.Load.Concurrency = concurrency
		return nil
	}
	rate, ok, err := r.number("request_rate", 1e-6)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%sconcurrency is missing", r.at())
	}
	asked, ok, err := r.number("load_value", 1e-6)
	if err != nil {
		return err
	}
	if ok && asked > overload*rate {
		// More is asked for than is answered: every slot is taken, and the first
		// token waits for all that came before in the run.
		p.Load.Concurrency, p.TTFT = p.Load.Slots, 0
		return nil
	}
	p.Rate = rate
	return nil
}

// overload is how far the rate that was asked for may be above the one that was
// answered before the server counts as overloaded; less is start and end of a
// run.
const overload = 1.05
