package sizing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/profiles"
)

// TestSearchDividesExperts: eight data ranks that divide the experts serve
// deepseek-v3 for less than any layout without them.
func TestSearchDividesExperts(t *testing.T) {
	r := searchFor(few("h200-sxm-141gb", "b200-180gb"))
	r.Scenario.Model, r.Scenario.Workload.Arrival = "deepseek-v3", rps(30)
	s := explore(t, r)
	c := s.Cheapest
	if c == nil || c.TensorParallel != 1 || c.DataParallel != 8 || c.ExpertParallel != 8 {
		t.Fatalf("cheapest %+v", c)
	}
	p := mustCompute(t, r.planFor(c.Configuration))
	near(t, "TTFT", c.TTFT, p.Performance.TTFT.P99)
	near(t, "cost", c.USDPerHour, p.Fleet.USDPerHour)
	r.Scenario.Parallel.Data = 1
	if alone := explore(t, r).Cheapest; alone.USDPerHour <= c.USDPerHour {
		t.Errorf("without data ranks $%v, with them $%v", alone.USDPerHour, c.USDPerHour)
	}
}

// layoutsTried are tensor·pipeline·data·expert degrees of options and rejections.
func layoutsTried(t *testing.T, change func(*SearchRequest)) []string {
	t.Helper()
	s := explore(t, searchFor(func(r *SearchRequest) {
		r.Accelerators, r.Scenario.Model = []string{"h200-sxm-141gb"}, "qwen3-30b-a3b"
		r.WeightDType, r.KVDType, r.MaxNumSeqs, r.MaxNumBatchedTokens = "bf16", "bf16", 256, 8192
		change(r)
	}))
	var all []string
	add := func(c Configuration) {
		all = append(all, fmt.Sprintf("%d·%d·%d·%d", c.TensorParallel, c.PipelineParallel, c.DataParallel, c.ExpertParallel))
	}
	for _, o := range s.Options {
		add(o.Configuration)
	}
	for _, r := range s.Rejections {
		add(r.Configuration)
	}
	slices.Sort(all)
	return all
}

func TestLayoutsRespectWhatIsSaid(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*SearchRequest)
		want   []string
	}{
		{"nothing", func(*SearchRequest) {}, []string{"1·1·1·0", "1·1·2·2", "1·1·4·4", "1·1·8·8", "2·1·1·0", "2·1·2·4", "2·1·4·8", "4·1·1·0", "4·1·2·8", "8·1·1·0"}},
		{"tensor", func(r *SearchRequest) { r.Scenario.Parallel.Tensor = 2 }, []string{"2·1·1·0", "2·1·2·4", "2·1·4·8"}},
		{"data", func(r *SearchRequest) { r.Scenario.Parallel.Data = 2 }, []string{"1·1·2·0", "2·1·2·0", "4·1·2·0", "8·1·2·0"}},
		{"data of one", func(r *SearchRequest) { r.Scenario.Parallel.Data = 1 }, []string{"1·1·1·0", "2·1·1·0", "4·1·1·0", "8·1·1·0"}},
		{"experts", func(r *SearchRequest) { r.Scenario.Parallel.Expert = 4 }, []string{"1·1·4·4", "2·1·2·4", "4·1·1·4", "8·1·1·4"}},
		{"experts by width", func(r *SearchRequest) { r.Scenario.Parallel.Expert = 1 }, []string{"1·1·1·1", "2·1·1·1", "4·1·1·1", "8·1·1·1"}},
		{"a pipeline", func(r *SearchRequest) { r.Scenario.Parallel.Pipeline = 2 }, []string{"1·2·1·0", "2·2·1·0", "4·2·1·0", "8·2·1·0"}},
		{"dense", func(r *SearchRequest) { r.Scenario.Model = "llama-3.1-8b" }, []string{"1·1·1·0", "2·1·1·0", "4·1·1·0", "8·1·1·0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, layoutsTried(t, tc.change)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnevenExpertsAreDividedWhole: 1,536 columns of an expert over 8 ranks leave
// 192, one and a half of the blocks that share an fp8 scale.
func TestUnevenExpertsAreDividedWhole(t *testing.T) {
	x := &explorer{model: &profiles.Model{}, experts: 128, expertWidth: 1536}
	x.model.Quantization.Method, x.model.Quantization.GroupSize = "fp8", 128
	for ranks, want := range map[int]int{1: 0, 2: 0, 4: 0, 8: 8} {
		if got := x.expertDegree(ranks, 1); got != want {
			t.Errorf("TP %d: experts over %d, want %d", ranks, got, want)
		}
	}
}

// TestDataRanksAcrossNodes: what one node does not hold is tried on several, with
// the network between them.
func TestDataRanksAcrossNodes(t *testing.T) {
	s := explore(t, searchFor(func(r *SearchRequest) {
		r.Scenario.Model, r.Accelerators, r.Scenario.Workload.Arrival = "deepseek-v3", []string{"h100-sxm-80gb"}, rps(20)
		r.MaxNumSeqs, r.MaxNumBatchedTokens = 256, 8192
	}))
	tried := map[Configuration]bool{}
	for _, o := range s.Options {
		tried[Configuration{TensorParallel: o.TensorParallel, PipelineParallel: o.PipelineParallel, DataParallel: o.DataParallel, ExpertParallel: o.ExpertParallel}] = true
	}
	want := map[Configuration]bool{
		{TensorParallel: 8, PipelineParallel: 2, DataParallel: 1}:                      true,
		{TensorParallel: 1, PipelineParallel: 1, DataParallel: 16, ExpertParallel: 16}: true,
	}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Error(diff)
	}
}

func TestNetworkBetweenNodes(t *testing.T) {
	for _, tc := range []struct {
		accelerator  string
		tensor, data int
		link         float64 // bytes per second
		warned       bool
	}{
		{"h100-sxm-80gb", 1, 8, 450e9, false},
		{"h100-sxm-80gb", 1, 16, 50e9, true},
		{"h100-sxm-80gb", 4, 4, 50e9, true},
		{"gb200", 1, 16, 900e9, false}, // 72 are joined
		{"h100-pcie-80gb", 1, 16, 50e9, true},
		{"a100-pcie-80gb", 1, 16, 32e9, false}, // no slower than inside of a node
	} {
		s, err := resolve(scenario(func(r *Request) {
			r.Scenario.Model, r.Scenario.Accelerator = "deepseek-v3", tc.accelerator
			r.Scenario.Parallel = profiles.Parallel{Tensor: tc.tensor, Data: tc.data, Expert: tc.tensor * tc.data}
		}))
		if err != nil {
			t.Fatal(err)
		}
		warned := slices.ContainsFunc(s.warnings, func(w Warning) bool { return w.Code == "cross-node" })
		if s.device.LinkBytesPerS != tc.link || warned != tc.warned {
			t.Errorf("%s TP %d DP %d: link %v, want %v; warned %v", tc.accelerator, tc.tensor, tc.data, s.device.LinkBytesPerS, tc.link, warned)
		}
	}
}

// TestWeighingsAreWhatWeighingSays: what is remembered is what would be computed.
func TestWeighingsAreWhatWeighingSays(t *testing.T) {
	shared := &weighings{done: map[weighingKey]weighing{}}
	for range 2 {
		for _, weights := range []string{"", "fp8", "int4"} {
			for _, tensor := range []int{1, 2} {
				for _, accelerator := range []string{"h100-sxm-80gb", "t4-16gb"} {
					r := scenario(func(r *Request) {
						r.Scenario.Model, r.Scenario.Accelerator, r.WeightDType, r.Scenario.Parallel.Tensor = "qwen3-30b-a3b", accelerator, weights, tensor
					})
					got, err := resolveWith(r, shared)
					if err != nil {
						t.Fatal(err)
					}
					want, err := resolve(r)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want.facts, got.facts) + cmp.Diff(want.stages, got.stages); diff != "" {
						t.Errorf("%s, TP %d: %s", weights, tensor, diff)
					}
				}
			}
		}
	}
	if len(shared.done) != 12 {
		t.Errorf("%d weighings, want 3 formats by 2 degrees by 2 widths of activations", len(shared.done))
	}
}

// TestCheapestMeasured: an accelerator that the engine was never measured on does
// not hide the best of those that it was.
func TestCheapestMeasured(t *testing.T) {
	r := searchFor(few("mi300x-192gb", "b200-180gb", "h800-80gb"))
	s := explore(t, r)
	if s.Cheapest.Accelerator != "mi300x-192gb" || s.Cheapest.Measured {
		t.Errorf("cheapest %+v", s.Cheapest)
	}
	if s.Measured == nil || s.Measured.Accelerator != "b200-180gb" || !s.Measured.Measured {
		t.Errorf("cheapest of the measured %+v", s.Measured)
	}
	for _, o := range slices.Concat(s.Front, s.PerKind, s.Unpriced, s.Options[:1]) {
		p := mustCompute(t, r.planFor(o.Configuration))
		if diff := cmp.Diff(p.Performance.Error, o.Error); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPerAcceleratorIsItsCheapest plans all options of each accelerator in full.
func TestPerAcceleratorIsItsCheapest(t *testing.T) {
	r := searchFor(few("h100-sxm-80gb", "l4-24gb", "h800-80gb", "a100-sxm-80gb"))
	r.Scenario.Workload.Arrival, r.KVDType, r.MaxNumSeqs = rps(60), "bf16", 256
	s := explore(t, r)
	best := map[string]float64{}
	for _, o := range s.Options {
		p := mustCompute(t, r.planFor(o.Configuration))
		if had, ok := best[o.Accelerator]; p.Feasible && p.Fleet.USDPerHour > 0 && (!ok || p.Fleet.USDPerHour < had) {
			best[o.Accelerator] = p.Fleet.USDPerHour
		}
	}
	got := map[string]float64{}
	for _, o := range s.PerKind {
		got[o.Accelerator] = o.USDPerHour
	}
	if diff := cmp.Diff(best, got); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSortedFunc(s.PerKind, byCost) || s.PerKind[0].Configuration != s.Cheapest.Configuration {
		t.Errorf("first %+v, cheapest %+v", s.PerKind[0].Configuration, s.Cheapest.Configuration)
	}
}

// TestSearchWithCount: accelerators at hand that do not carry the load are out for
// that reason, and none take more.
func TestSearchWithCount(t *testing.T) {
	r := searchFor(few("h100-sxm-80gb", "l4-24gb"))
	r.Count, r.Scenario.Workload.Arrival = 4, rps(60)
	s := explore(t, r)
	codes := map[string]int{}
	for _, rejection := range s.Rejections {
		codes[rejection.Code] += rejection.Configurations
	}
	if codes["load"] == 0 || codes["refused"] == 0 {
		t.Errorf("rejections %v, want some for the load and some for TP 8", codes)
	}
	for _, o := range s.Options {
		if o.Accelerators > 4 {
			t.Errorf("%d accelerators of 4: %+v", o.Accelerators, o.Configuration)
		}
	}
	if !s.Feasible || s.Cheapest.Accelerator != "h100-sxm-80gb" {
		t.Errorf("cheapest %+v", s.Cheapest)
	}
}

// TestSearchMoney: what a bill is compared with is that of the plan.
func TestSearchMoney(t *testing.T) {
	office, err := profiles.LoadLoadProfile("office")
	if err != nil {
		t.Fatal(err)
	}
	r := searchFor(few("h100-sxm-80gb"))
	r.WeightDType, r.MaxNumSeqs, r.LoadProfile = "fp8", 256, office
	r.APIPrice = profiles.APIPrice{In: 0.1, Cached: 0.1, Out: 0.2}
	c := explore(t, r).Cheapest
	p := mustCompute(t, r.planFor(c.Configuration))
	want := &OptionMoney{p.Fleet.USDPerMonth, p.Day.Autoscaled.USDPerMonth, p.API.USDPerMonth, p.API.Cheaper}
	if diff := cmp.Diff(want, c.Money); diff != "" {
		t.Error(diff)
	}
}
