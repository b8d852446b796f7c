package accuracy

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llmctl/llmctl/sizing"
)

// Sequences compares the largest number of sequences that TensorRT-LLM ran at
// once (trtllm_max_sequences.csv): each has its max_seq_len reserved, so that
// whole ones of that length count.
func Sequences(d Data) ([]Check, error) {
	rows, err := d.table(sequencesFile)
	if err != nil {
		return nil, err
	}
	c := Check{Name: "TensorRT-LLM maximum concurrent sequences", Bar: "median ≤ 3 %"}
	for i, r := range rows {
		if !r.runnable() {
			continue
		}
		r["id"] = strconv.Itoa(i + 2) // the line of the file
		want, ok := r.number("measured_max_concurrent_seqs")
		if !ok {
			continue
		}
		request, err := d.request(r)
		if err != nil {
			c.exclude(r, err)
			continue
		}
		memory, err := sizing.PlanMemory(request)
		if err != nil {
			c.exclude(r, err)
			continue
		}
		what := fmt.Sprintf("sequences of %s tokens at %s", r["max_seq_len"], r["free_gpu_memory_fraction"])
		c.add(d, "sequences", r, what, math.Floor(memory.MaxConcurrency), want)
	}
	c.Summary = fmt.Sprintf("median %s, worst %s", percent(c.Quantile(0.5)), percent(c.Quantile(1)))
	c.settle(c.Quantile(0.5) <= 0.03)
	return []Check{c}, nil
}
