package profiles

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/userfile"
)

// DefaultEngine names the engine that a plan assumes when nothing is said.
const DefaultEngine = "vllm"

// BundledEngine names llmctl's own.
const BundledEngine = "llmctl"

var engineIndex = sync.OnceValue(func() []Engine {
	var engines []Engine
	for _, changes := range readEmbedded[[]yaml.Node]("engines.yaml") {
		e, err := inherit(engines, &changes)
		if err != nil {
			panic(fmt.Sprintf("embedded engines.yaml, line %d: %v", changes.Line, err))
		}
		engines = append(engines, e)
	}
	return engines
})

// inherit reads an entry as what changed since the one before it of the same
// engine.
func inherit(before []Engine, changes *yaml.Node) (Engine, error) {
	var e Engine
	origins := map[string]string{}
	if n := len(before); n > 0 && before[n-1].Name == valueOf(changes, "name") {
		e = before[n-1]
		origins = maps.Clone(e.Origins)
	}
	if err := changes.Decode(&e); err != nil {
		return e, err
	}
	if len(e.CUDAGraph.Uncounted.Architectures) == 0 {
		e.CUDAGraph.Uncounted.Architectures = nil // no longer any, as a file says it
	}
	for i := 0; i < len(changes.Content); i += 2 {
		switch part := changes.Content[i].Value; part {
		case "name", "version", "title", "source":
		default:
			origins[part] = e.Source
		}
	}
	e.Origins = origins
	return e, e.Validate()
}

// valueOf is the text of a key of a mapping, empty when it is not there.
func valueOf(mapping *yaml.Node, key string) string {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1].Value
		}
	}
	return ""
}

// EngineNames returns the references of the built-in engines, "vllm@0.19", in
// order of name and version.
func EngineNames() []string {
	var names []string
	for _, e := range engineIndex() {
		names = append(names, e.String())
	}
	return names
}

// LoadEngine returns the engine that ref names: "vllm" is its newest version,
// "vllm@0.19.1" the defaults that held then, and a YAML file as `llmctl profiles
// engines show` prints it one of the user's own. A version newer than all that
// data knows follows the newest rules, which Engine.Rules then names; one that is
// older than all, or newer by more than a major version, is refused.
func LoadEngine(ref string) (*Engine, error) {
	if isYAML(ref) {
		return loadEngineFile(ref)
	}
	name, version, versioned := strings.Cut(ref, "@")
	var of []Engine
	for _, e := range engineIndex() {
		if strings.EqualFold(e.Name, name) {
			of = append(of, e)
		}
	}
	if len(of) == 0 {
		var names []string
		for _, e := range engineIndex() {
			names = append(names, e.Name)
		}
		return nil, unknown("engine", name, slices.Compact(names), "expected a name from `llmctl profiles engines` or a YAML file")
	}
	newest := of[len(of)-1]
	if !versioned {
		return &newest, nil
	}
	want, err := parseVersion(version)
	if err != nil {
		return nil, fmt.Errorf("engine %q: %w", ref, err)
	}
	for i, e := range slices.Backward(of) {
		have, _ := parseVersion(e.Version)
		switch order := slices.Compare(want[:min(len(want), len(have))], have); {
		case order > 0 && i == len(of)-1 && !plausible(want, have):
			return nil, fmt.Errorf("engine %q is newer than the data, which ends at %s, by more than a major version", ref, newest)
		case order >= 0:
			if order > 0 && i == len(of)-1 {
				e.Rules = e.Version
			}
			e.Version = version
			return &e, nil
		}
	}
	return nil, fmt.Errorf("engine %q is older than the data, which begins at %s", ref, of[0])
}

// furthest is by how many minor versions an engine may be newer than the data.
const furthest = 50

// plausible reports whether a version newer than all that are known may exist:
// one of the next major version, or some minor versions ahead.
func plausible(want, newest []int) bool {
	if want[0] != newest[0] {
		return want[0] == newest[0]+1
	}
	return len(want) < 2 || len(newest) < 2 || want[1] <= newest[1]+furthest
}

func loadEngineFile(path string) (*Engine, error) {
	data, err := userfile.Read(path, userfile.YAMLLimit)
	if err != nil {
		return nil, fmt.Errorf("reading engine: %w", err)
	}
	e, err := ParseEngine(data)
	if err != nil {
		return nil, fmt.Errorf("reading engine %s: %w", path, err)
	}
	return e, nil
}

// ParseEngine reads one engine in YAML.
func ParseEngine(data []byte) (*Engine, error) {
	var e Engine
	if err := userfile.DecodeYAML(data, &e); err != nil {
		return nil, err
	}
	return &e, e.Validate()
}

// Validate reports the first value that makes no sense.
func (e Engine) Validate() error {
	switch e.Pool {
	case PoolBudget, PoolReserve, PoolFree:
	default:
		return fmt.Errorf("pool %q is not one of budget, reserve, free", e.Pool)
	}
	switch e.KVTokens {
	case TokensByBlocks, TokensByConcurrency:
	default:
		return fmt.Errorf("kv_tokens %q is not one of blocks, concurrency", e.KVTokens)
	}
	if e.Name == "" {
		return fmt.Errorf("name is missing")
	}
	if _, err := parseVersion(e.Version); err != nil {
		return err
	}
	if !(e.Utilization > 0 && e.Utilization <= 1) {
		return fmt.Errorf("utilization %v is outside 0 to 1", e.Utilization)
	}
	switch e.Windows {
	case WindowsDrop, WindowsKeep:
	default:
		return fmt.Errorf("windows %q is not one of drop, keep", e.Windows)
	}
	for _, name := range e.DeclaredKV {
		if !slices.Contains([]string{"fp8", "nvfp4", "scheme"}, name) {
			return fmt.Errorf("declared_kv %q is not one of fp8, nvfp4, scheme", name)
		}
	}
	if len(e.Classes) == 0 {
		return fmt.Errorf("limits is missing")
	}
	for _, f := range e.ranges() {
		if !(f.value >= f.low && f.value <= f.high) {
			return fmt.Errorf("%s %v is outside %v to %v", f.name, f.value, f.low, f.high)
		}
	}
	return nil
}

// valueRange is what a number of an engine may be.
type valueRange struct {
	name      string
	low, high float64
	value     float64
}

// ranges lists the numbers of an engine with their bounds.
func (e Engine) ranges() []valueRange {
	const most = 1 << 50
	ranges := []valueRange{
		{"block_size", 1, 1 << 20, float64(e.BlockSize)},
		{"whole_prompts_up_to", 0, 1 << 31, float64(e.WholePrompts)},
		{"state_blocks", 1, 16, float64(e.StateBlocks)},
		{"state_blocks_cached", 0, 16, float64(e.CachedStateBlocks)},
		{"whole_images.tokens", 0, 1 << 24, float64(e.WholeImages.Tokens)},
		{"pools.window_ratio", 0, 1, e.Pools.WindowRatio},
		{"pools.state_ratio", 0, 100, e.Pools.StateRatio},
		{"activation.base_bytes", 0, most, float64(e.Activation.BaseBytes)},
		{"activation.per_sequence_vocab_bytes", 0, 1 << 20, e.Activation.PerSequenceVocabBytes},
		{"activation.error_bytes", 0, most, float64(e.Activation.ErrorBytes)},
		{"non_torch.single_bytes", 0, most, float64(e.NonTorch.SingleBytes)},
		{"non_torch.tensor_bytes", 0, most, float64(e.NonTorch.TensorBytes)},
		{"non_torch.per_rank_bytes", 0, 1 << 40, float64(e.NonTorch.PerRankBytes)},
		{"non_torch.fused_bytes", 0, most, float64(e.NonTorch.FusedBytes)},
		{"non_torch.linkless_bytes", 0, most, float64(e.NonTorch.LinklessBytes)},
		{"non_torch.pipeline_bytes", 0, most, float64(e.NonTorch.PipelineBytes)},
		{"non_torch.share", 0, 1, e.NonTorch.Share},
		{"reserve.base_bytes", 0, most, float64(e.Reserve.BaseBytes)},
		{"reserve.per_batched_token_bytes", 0, 1 << 30, float64(e.Reserve.PerBatchedTokenBytes)},
		{"reserve.per_rank_bytes", 0, 1 << 40, float64(e.Reserve.PerRankBytes)},
		{"reserve.per_graph_seq_bytes", 0, 1 << 40, float64(e.Reserve.PerGraphSeqBytes)},
		{"reserve.floor_bytes", 0, most, float64(e.Reserve.FloorBytes)},
		{"reserve.floor_memory_bytes", 0, most, float64(e.Reserve.FloorMemoryBytes)},
		{"reserve.error_bytes", 0, most, float64(e.Reserve.ErrorBytes)},
		{"start_up_bytes", 0, most, float64(e.StartUp)},
		{"cuda_graph.bytes", 0, most, float64(e.CUDAGraph.Bytes)},
		{"cuda_graph.per_layer_bytes", 0, 1 << 30, float64(e.CUDAGraph.PerLayerBytes)},
		{"cuda_graph.experts_bytes", 0, 1 << 30, float64(e.CUDAGraph.ExpertsBytes)},
		{"cuda_graph.per_width_bytes", 0, 1 << 30, float64(e.CUDAGraph.PerWidthBytes)},
		{"cuda_graph.error_bytes", 0, most, float64(e.CUDAGraph.ErrorBytes)},
		{"cuda_graph.experts_error", 0, 10, e.CUDAGraph.ExpertsError},
	}
	for _, class := range e.Classes {
		ranges = append(ranges,
			valueRange{"limits.memory_bytes", 0, most, float64(class.MemoryBytes)},
			valueRange{"limits.max_num_seqs", 1, 1 << 20, float64(class.MaxSeqs)},
			valueRange{"limits.max_num_batched_tokens", 1, 1 << 24, float64(class.MaxBatchedTokens)},
			valueRange{"limits.graph_seqs", 0, 1 << 20, float64(class.GraphSeqs)})
	}
	return ranges
}

// parseVersion reads the numbers of "0.19.1rc2+cu12" or "0.5.6.post2": a
// pre-release counts as the release it leads to, a later build as its release.
func parseVersion(s string) ([]int, error) {
	s = strings.TrimPrefix(s, "v")
	var numbers []int
	for part := range strings.SplitSeq(s, ".") {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		digits := part
		if end >= 0 {
			digits = part[:end]
		}
		if digits == "" && part != "" && len(numbers) > 0 {
			break
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("version %q is not like 0.19 or 0.19.1", s)
		}
		numbers = append(numbers, n)
		if end >= 0 {
			break
		}
	}
	return numbers, nil
}
