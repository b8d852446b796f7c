package profiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
)

// The words that settings of an engine may be.
var (
	ChunkedModes  = onOff
	CachingModes  = []string{"auto", "on", "off"}
	Policies      = []string{"fcfs", "priority"}
	CacheSalts    = []string{"none", "tenant"}
	BatchingModes = []string{"continuous", "static"}
	KVLayouts     = []string{"paged", "contiguous"}
)

func (s *Serving) form() form { return form{what: "serving"} }

func (s *Serving) slots() []slot {
	return []slot{
		{name: "max_num_seqs", to: &s.MaxNumSeqs, as: count(1, 1<<20)},
		{name: "max_num_batched_tokens", to: &s.MaxNumBatchedTokens, as: count(1, 1<<24)},
		{name: "max_model_len", to: &s.MaxModelLen, as: count(1, 1<<31)},
		{name: "block_size", to: &s.BlockSize, as: count(1, 1<<20)},
		{name: "gpu_memory_utilization", to: &s.GPUMemoryUtilization, as: amount(0.01, 1)},
		{name: "kv_cache_memory", to: &s.KVCacheMemory, as: memory},
		{name: "weight_dtype", to: &s.WeightDType},
		{name: "kv_dtype", to: &s.KVDType},
		{name: "prefix_caching", to: &s.PrefixCaching, words: CachingModes},
		{name: "chunked_prefill", to: &s.ChunkedPrefill, words: ChunkedModes},
		{name: "long_prefill_token_threshold", to: &s.LongPrefillTokenThreshold, as: count(1, 1<<24)},
		{name: "policy", to: &s.Policy, words: Policies},
		{name: "priorities", to: ranks{&s.Priorities}},
		{name: "cache_salt", to: &s.CacheSalt, words: CacheSalts},
		{name: "batching", to: &s.Batching, words: BatchingModes},
		{name: "kv_layout", to: &s.KVLayout, words: KVLayouts},
		{name: "speculative", to: inside{&s.Speculative}},
		{name: "offload", to: inside{&s.Offload}},
	}
}

// Validate reports the first setting out of range, or two of which one would have no
// effect. What was not said is fine.
func (s *Serving) Validate() error {
	if err := s.checkRanges(); err != nil {
		return err
	}
	slab := s.KVLayout == "contiguous"
	switch {
	case len(s.Priorities) > 0 && s.Policy == "":
		return errors.New("priorities have no effect under fcfs, which is the default: say policy: priority")
	case s.Batching == "static" && s.Speculative.Tokens > 0:
		return errors.New("static batching contradicts speculative: a static batch decodes a token of each request per step; leave one of them out")
	case s.Offload.MemoryBytes > 0 && s.PrefixCaching == "off":
		return errors.New("offload keeps evicted blocks for prompts that begin alike, which prefix_caching: off never looks for; leave one of them out")
	case slab && s.PrefixCaching == "on":
		return errors.New("kv_layout: contiguous contradicts prefix_caching: on, since slabs share nothing; leave one of them out")
	case slab && s.Offload.MemoryBytes > 0:
		return errors.New("kv_layout: contiguous contradicts offload, since slabs have no blocks to evict; leave one of them out")
	}
	return nil
}

// checkRanges is Validate for settings that others may complete.
func (s *Serving) checkRanges() error {
	if err := checkSlots(s); err != nil {
		return err
	}
	if err := s.Speculative.Validate(); err != nil {
		return fmt.Errorf("speculative: %w", err)
	}
	if err := s.Offload.Validate(); err != nil {
		return fmt.Errorf("offload: %w", err)
	}
	return checkRanks(s.Priorities)
}

// IsZero reports settings of which nothing was said.
func (s Serving) IsZero() bool { return !said(&s) }

// Over returns s with what it leaves unsaid taken from base. Speculative decoding,
// offloading and the ranks of classes are each taken as a whole.
func (s Serving) Over(base Serving) Serving {
	overlay(&s, &base)
	return s
}

// Set reads one plain setting by its key, such as max_num_seqs.
func (s *Serving) Set(name, value string) error {
	slot, err := findSlot(name, "serving", s.slots())
	if err != nil {
		return err
	}
	return slot.set(value)
}

// MarshalJSON writes what was said, with units in the keys.
func (s Serving) MarshalJSON() ([]byte, error) { return json.Marshal(sectionJSON(&s)) }

func (s *Speculative) form() form { return form{what: "speculative", off: true} }

func (s *Speculative) slots() []slot {
	return []slot{
		{name: "tokens", to: &s.Tokens, as: count(1, 64)},
		{name: "acceptance", to: &s.Acceptance, as: amount(0, 1)},
		{name: "draft_cost", to: &s.DraftCost, as: amount(0, 10)},
	}
}

// Validate reports the first value out of range, or that there is nothing to
// propose.
func (s *Speculative) Validate() error {
	if err := checkSlots(s); err != nil {
		return err
	}
	if *s != (Speculative{}) && s.Tokens == 0 {
		return errors.New("speculative decoding needs tokens, the number that the draft proposes per step")
	}
	return nil
}

// ParseSpeculative reads speculative decoding, such as tokens=4,acceptance=0.7, or
// off.
func ParseSpeculative(text string) (s Speculative, err error) {
	err = parseSection(text, &s)
	return s, err
}

// String writes the speculation as ParseSpeculative reads it.
func (s Speculative) String() string { return sectionText(&s) }

func (o *Offload) form() form { return form{what: "offload", off: true} }

func (o *Offload) slots() []slot {
	return []slot{
		{name: "memory", to: &o.MemoryBytes, as: memory},
		{name: "bandwidth", to: &o.BandwidthPerS, as: bandwidth},
		{name: "latency_per_block", to: &o.LatencyPerBlock, as: period(time.Second)},
	}
}

// Validate reports the first value out of range, or that there is no memory.
func (o *Offload) Validate() error {
	if err := checkSlots(o); err != nil {
		return err
	}
	if *o != (Offload{}) && o.MemoryBytes == 0 {
		return errors.New("offload needs memory, how much of the host's a replica may take")
	}
	return nil
}

// ParseOffload reads an offload, such as memory=64GB,bandwidth=50GB/s, or off.
func ParseOffload(text string) (o Offload, err error) {
	err = parseSection(text, &o)
	return o, err
}

// String writes the offload as ParseOffload reads it.
func (o Offload) String() string { return sectionText(&o) }

// ParsePriorities reads ranks of classes, such as interactive=0,batch=10.
func ParsePriorities(text string) (map[string]int, error) {
	out := map[string]int{}
	err := eachPair(text, func(name, value string) (err error) {
		out[name], err = parseRank(value)
		return err
	})
	if err == nil {
		err = checkRanks(out)
	}
	return out, wrapParse("priorities", text, err)
}

// largestRank bounds ranks to what any engine's integers hold.
const largestRank = 1 << 30

func parseRank(s string) (int, error) {
	v, err := units.ParseCount(s)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > largestRank {
		return 0, fmt.Errorf("%q is no rank: expected a whole number, the smaller the sooner", s)
	}
	return int(v), nil
}

func checkRanks(m map[string]int) error {
	for _, class := range sortedKeys(m) {
		if _, err := parseClass(class); err != nil {
			return err
		}
		if rank := m[class]; rank < -largestRank || rank > largestRank {
			return fmt.Errorf("rank %d of class %s is outside ±%d", rank, class, largestRank)
		}
	}
	return nil
}

// ranks are the priorities of classes as a nested value.
type ranks struct{ to *map[string]int }

func (r ranks) readYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("expected classes and ranks, got %s", nodeText(node))
	}
	out := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, err := parseClass(node.Content[i].Value)
		if _, twice := out[name]; err == nil && twice {
			err = fmt.Errorf("%q is given twice", name)
		}
		if err != nil {
			return at(node.Content[i], err)
		}
		var rank int
		if err := into(&rank, parseRank)(follow(node.Content[i+1])); err != nil {
			return at(node.Content[i+1], err)
		}
		out[name] = rank
	}
	if len(out) > 0 {
		*r.to = out
	}
	return nil
}

func (r ranks) mapping() mapping {
	out := mapping{}
	for _, name := range slices.Sorted(maps.Keys(*r.to)) {
		out = append(out, pair{name, scalarNode(fmt.Sprint((*r.to)[name]))})
	}
	return out
}

func (r ranks) json() any  { return *r.to }
func (r ranks) said() bool { return len(*r.to) > 0 }

func (r ranks) over(base nested) {
	if !r.said() {
		*r.to = *base.(ranks).to
	}
}

// Settings words the engine's settings that are said, such as max_num_seqs 64, in
// the order in which they are documented.
func (s Serving) Settings() []string {
	var out []string
	for _, slot := range s.slots() {
		if !slot.said() {
			continue
		}
		if n, ok := slot.to.(nested); ok {
			text := slot.name
			if in, ok := n.(inside); ok {
				text += " " + sectionText(in.section)
			}
			out = append(out, text)
			continue
		}
		out = append(out, strings.TrimSpace(slot.name+" "+slot.text()))
	}
	return out
}
