package sizing

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/sizing/cost"
)

// step explains a step without prefill at the planned load, term by term.
func (d *derivations) step(s *situation, r replica, st state) {
	d.fixed(r, st.decode)
	d.traffic(s, r, st.decode)
	d.products(s, r, st.decode)
	d.exchanges(s, r, st.decode)
	step := st.decode
	memory, compute := secondsFigure(step.Memory), secondsFigure(step.Compute)
	terms := []string{secondsFigure(step.Fixed), fmt.Sprintf("√(%s × %s + %s × %s)", memory, memory, compute, compute)}
	formula := "fixed + √(memory² + compute²)"
	if step.Collective > 0 {
		formula, terms = formula+" + collectives", append(terms, secondsFigure(step.Collective))
	}
	d.add("decode step", formula, strings.Join(terms, " + "), step.Seconds, "s", accuracyOf(r.constants))
	products := step.Operations - step.Attention - step.Index
	name, attention := s.attention(step)
	d.add("roofline limit of the decode step", "max(bytes ÷ bandwidth, products ÷ rate + "+name+")",
		fmt.Sprintf("max(%s ÷ %s, %s ÷ %s + %s)", bytesFigure(step.Bytes), bandwidthFigure(s.device.BandwidthBytesPerS),
			operationsFigure(products), rateFigure(cost.Rate(s.device, r.facts.Units)), attention),
		step.Limit, "s", s.device.Source)
}

// attention words the time of attention, and of an index that selects for it.
func (s *situation) attention(step cost.Step) (formula, text string) {
	formula = "attention ÷ 16-bit rate"
	text = operationsFigure(step.Attention) + " ÷ " + rateFigure(cost.AttentionRate(s.device))
	if step.Index > 0 {
		formula += " + index ÷ 8-bit rate"
		text += " + " + operationsFigure(step.Index) + " ÷ " + rateFigure(cost.Rate(s.device, cost.FP8))
	}
	return formula, text
}

// accuracyOf words where constants come from and how far to trust them.
func accuracyOf(c cost.Constants) string {
	return fmt.Sprintf("constants: %s; held-out error %.0f%% in the middle, 80%% of points within ×%.2f to ×%.2f",
		c.Source, c.Error.Relative*100, c.Error.Low, c.Error.High)
}

// fixed explains what a step costs whatever is in it.
func (d *derivations) fixed(r replica, step cost.Step) {
	c, f := r.constants, r.facts
	formula := []string{"per step", "per layer × layers"}
	terms := []string{secondsFigure(c.StepS), fmt.Sprintf("%s × %d", secondsFigure(c.LayerS), f.Layers)}
	if f.LatentLayers > 0 {
		formula, terms = append(formula, "per latent layer × latent layers"), append(terms, fmt.Sprintf("%s × %d", secondsFigure(c.LatentS), f.LatentLayers))
	}
	if f.ExpertLayers > 0 {
		formula, terms = append(formula, "per expert layer × expert layers"), append(terms, fmt.Sprintf("%s × %d", secondsFigure(c.ExpertS), f.ExpertLayers))
	}
	formula, terms = append(formula, "per sequence × sequences"), append(terms, fmt.Sprintf("%s × %s", secondsFigure(c.SequenceS), figure(step.Sampled/float64(max(1, f.Data)))))
	d.add("fixed time of the decode step", strings.Join(formula, " + "), strings.Join(terms, " + "), step.Fixed, "s", "same constants: launches, synchronisation, sampling")
}

// traffic explains the time to read weights and cache.
func (d *derivations) traffic(s *situation, r replica, step cost.Step) {
	c := r.constants
	shared := bytesFigure(step.Bytes-step.ExpertBytes) + " ÷ " + bandwidthFigure(s.device.BandwidthBytesPerS)
	formula, text := "e × (weights + cache) ÷ bandwidth", constant(c.MemoryFactor)+" × "+shared
	if step.ExpertBytes > 0 {
		f := r.facts
		d.add("experts read by the decode step", "experts' bytes × (1 − (1 − experts per token ÷ experts)^tokens)",
			fmt.Sprintf("%s × %s", bytesFigure(f.ExpertBytes), strconv.FormatFloat(step.ExpertBytes/f.ExpertBytes, 'f', 12, 64)), step.ExpertBytes, "B",
			fmt.Sprintf("uniform routing: %d of %d experts for each of %s tokens", f.PerToken, f.Experts, figure(step.Tokens)))
		formula += " + eₓ × experts read ÷ bandwidth"
		text += fmt.Sprintf(" + %s × %s ÷ %s", constant(c.ExpertMemoryFactor), bytesFigure(step.ExpertBytes), bandwidthFigure(s.device.BandwidthBytesPerS))
	}
	d.add("memory time of the decode step", formula, text, step.Memory, "s", "same constants; "+s.device.Source)
}

// products explains the time of matrix products and attention.
func (d *derivations) products(s *situation, r replica, step cost.Step) {
	c := r.constants
	rate := rateFigure(cost.Rate(s.device, r.facts.Units))
	shared := step.Operations - step.Attention - step.Index - step.ExpertProducts
	name, attention := s.attention(step)
	formula := "m × (products ÷ rate + " + name + ")"
	text := fmt.Sprintf("%s × (%s ÷ %s + %s)", constant(c.ComputeFactor), operationsFigure(shared), rate, attention)
	if step.ExpertProducts > 0 {
		formula += " + mₓ × experts' products ÷ rate"
		text += fmt.Sprintf(" + %s × %s ÷ %s", constant(c.ExpertComputeFactor), operationsFigure(step.ExpertProducts), rate)
	}
	d.add("compute time of the decode step", formula, text, step.Compute, "s", "same constants; "+s.device.Source)
}

// exchanges explains the collectives between accelerators.
func (d *derivations) exchanges(s *situation, r replica, step cost.Step) {
	if step.Collective == 0 {
		return
	}
	c := r.constants
	d.add("collectives of the decode step", "per round × rounds + l × bytes exchanged ÷ link",
		fmt.Sprintf("%s × %s + %s × %s ÷ %s", secondsFigure(c.LatencyS), figure(step.Exchanges), constant(c.LinkFactor), bytesFigure(step.ExchangedBytes), bandwidthFigure(cost.LinkRate(s.device))),
		step.Collective, "s", "same constants; all-reduces of two activations per layer (arXiv 1909.08053 §3)")
}

// constant is a fitted factor, exactly.
func constant(v float64) string { return setting(v) }
