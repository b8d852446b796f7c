package sizing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/shell"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Alternative is a change of the request that makes a plan feasible.
type Alternative struct {
	Change       string `json:"change"`       // the flags that change, "--tp 16"
	Command      string `json:"command"`      // the whole command line
	Accelerators int    `json:"accelerators"` // of one replica

	args []string
}

// Wrapped is the command over lines of at most width columns, for a shell.
func (a Alternative) Wrapped(width int) string { return shell.Wrap(a.args, width) }

// A change is flags and their values in pairs.
type change []string

// apply sets the flags in a request.
func (c change) apply(r *Request) {
	for i := 0; i+1 < len(c); i += 2 {
		n, _ := strconv.Atoi(c[i+1])
		switch c[i] {
		case "--tp":
			r.Scenario.Parallel.Tensor = n
		case "--pp":
			r.Scenario.Parallel.Pipeline = n
		case "--max-model-len":
			r.MaxModelLen = n
		case "--max-num-seqs":
			r.MaxNumSeqs = n
		case "--kv-dtype":
			r.KVDType = c[i+1]
		case "--weight-dtype":
			r.WeightDType = c[i+1]
		case "--accelerator":
			r.Scenario.Accelerator = c[i+1]
		}
	}
}

// suggest looks for the smallest changes that make an infeasible request
// feasible, and adds them to the reasons in words.
func (s *situation) suggest(p *Plan, r Request, l layout) {
	nearest, least, nearestMisses := change(nil), math.Inf(1), ""
	works := func(c change) bool {
		changed := r
		c.apply(&changed)
		t, err := resolve(changed)
		if err != nil {
			return false
		}
		fits, lone := t.trial()
		if !fits {
			return false
		}
		if off := worst(lone); t.sloGiven && !(off <= 1) {
			if off < least {
				nearest, least, nearestMisses = c, off, broken(lone, t.limits.quantile)
			}
			return false
		}
		args := changed.Args()
		p.Alternatives = append(p.Alternatives, Alternative{
			Change: shell.Join(c), Command: shell.Join(args), Accelerators: t.inputs.TensorParallel * t.inputs.PipelineParallel * t.inputs.DataParallel, args: args,
		})
		return true
	}
	for _, ladder := range s.ladders(p.Memory, l) {
		for _, c := range ladder {
			if works(c) {
				break
			}
		}
	}
	s.combine(p, works)
	if s.inputs.TensorParallel*s.inputs.PipelineParallel < linkDomain(s.device) && !withinDomain(p.Alternatives, linkDomain(s.device)) {
		for _, stages := range []string{"2", "4"} {
			if works(change{"--tp", strconv.Itoa(min(8, linkDomain(s.device))), "--pp", stages}) {
				break
			}
		}
	}
	for _, a := range p.Alternatives {
		p.Reasons = append(p.Reasons, "it works with "+a.Change)
	}
	switch {
	case len(p.Alternatives) > 0:
	case nearest != nil:
		p.Reasons = append(p.Reasons, fmt.Sprintf("nothing that was tried meets the objective; the nearest is %s%s", shell.Join(nearest), nearestMisses))
	default:
		p.Reasons = append(p.Reasons, "nothing that was tried helps: fewer tokens, fp8 cache, 8-bit and 4-bit weights, tensor parallelism up to 16, larger accelerators")
	}
}

// larger are accelerators to try, smallest first.
var larger = []string{"l40s-48gb", "a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-180gb", "b300-270gb"}

// ladders are changes to try, the smallest first; of each ladder the first step
// that works is enough.
func (s *situation) ladders(m Memory, l layout) [][]change {
	in := s.inputs
	var shorter, fewer, cache, tensor, other []change
	if fits := l.longest(m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens); s.lenGiven && m.KVCacheBlocks > 0 && fits < in.MaxModelLen {
		shorter = []change{{"--max-model-len", strconv.Itoa(fits)}}
	}
	if in.MaxNumSeqs > 256 && !m.Given {
		fewer = []change{{"--max-num-seqs", "256"}}
	}
	if s.kv.Bytes() == 2 && s.device.FP8FlopsPerS > 0 {
		cache = []change{{"--kv-dtype", "fp8"}}
	}
	widest := 16
	if s.sloGiven {
		widest = linkDomain(s.device) // the step model knows one kind of link
	}
	for tp := 2; tp <= min(16, widest); tp *= 2 {
		if tp > in.TensorParallel {
			tensor = append(tensor, change{"--tp", strconv.Itoa(tp)})
		}
	}
	for _, key := range larger {
		if d, err := profiles.LoadAccelerator(key); err == nil && d.MemoryBytes >= s.device.MemoryBytes && key != s.device.Name {
			other = append(other, change{"--accelerator", key})
		}
	}
	return [][]change{shorter, fewer, cache, s.narrower(), tensor, other}
}

// narrower are weights of fewer bits than the model's: 8 where the accelerator
// has units of 8 bits, then 4.
func (s *situation) narrower() []change {
	if s.format.Quantization.Method != "" {
		return nil
	}
	eight := "int8"
	if s.device.FP8FlopsPerS > 0 {
		eight = "fp8"
	}
	return []change{{"--weight-dtype", eight}, {"--weight-dtype", "int4"}}
}

// linkDomain is how many accelerators the fast link joins: 8 on the boards of
// HGX and OAM servers, 72 in an NVL72 rack of GB200 or GB300 (NVIDIA). Beyond it,
// pipeline parallelism stands the slower network.
func linkDomain(d *profiles.Accelerator) int {
	if strings.HasPrefix(d.Name, "gb") {
		return 72
	}
	return 8
}

// withinDomain reports whether an alternative stays within a link domain.
func withinDomain(alternatives []Alternative, domain int) bool {
	return slices.ContainsFunc(alternatives, func(a Alternative) bool { return a.Accelerators <= domain })
}

// combine tries 8-bit weights with tensor parallelism below what alone works.
func (s *situation) combine(p *Plan, works func(change) bool) {
	alone := 2 * linkDomain(s.device)
	for _, a := range p.Alternatives {
		var tp int
		if _, err := fmt.Sscanf(a.Change, "--tp %d", &tp); err == nil {
			alone = tp
		}
	}
	for tp := 2; tp < min(alone, 16); tp *= 2 {
		if narrow := s.narrower(); len(narrow) > 0 && tp > s.inputs.TensorParallel && works(append(slices.Clone(narrow[0]), "--tp", strconv.Itoa(tp))) {
			return
		}
	}
}

// trial reports whether a situation fits, and what a lone request then takes
// for each bound that was asked for.
func (s *situation) trial() (fits bool, lone []clause) {
	l, err := s.newLayout()
	if err != nil {
		return false, nil
	}
	s.raiseBlock(l)
	m := s.plannedMemory(l)
	s.fitLength(&m, l)
	m.fill(s, l)
	x := s.warmMix(m, l)
	m.MixSequences = mixSequences(m, l, x) * float64(s.inputs.DataParallel)
	if len(s.memoryReasons(m, l, x)) > 0 {
		return false, nil
	}
	if !s.sloGiven {
		return true, nil
	}
	return true, s.limits.lone(s.newReplica(m, x))
}

// prefillBound says what prefilling a prompt of the longest percent is made of.
func (s *situation) prefillBound(r replica) string {
	tokens := min(r.mix.longest, r.batched)
	step := cost.StepTime(r.facts, r.device, r.constants, cost.Batch{Prefill: []cost.Prefill{{Tokens: tokens, Final: true}}})
	return fmt.Sprintf("a step that prefills %s tokens takes %s, most of it %s", units.Number(tokens), units.Seconds(step.Seconds), step.Bound())
}
