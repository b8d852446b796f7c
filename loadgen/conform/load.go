package conform

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"github.com/llmctl/llmctl/internal/servermetrics"
)

// kvNoise is how much fuller a cache may be than before: blocks of prompts that
// are kept for later count as used in some engines.
const kvNoise = 0.02

// load is what an engine's metrics page says of its work; NaN is unknown.
type load struct{ running, waiting, kv float64 }

// busy reports whether requests run or wait.
func (l load) busy() bool { return l.running > 0 || l.waiting > 0 }

// String implements fmt.Stringer.
func (l load) String() string {
	return fmt.Sprintf("%g running, %g waiting, KV usage %.3g", l.running, l.waiting, l.kv)
}

// load reads the metrics page.
func (p *probe) load(ctx context.Context) (load, error) {
	response, err := p.get(ctx, p.o.Metrics)
	if err != nil {
		return load{}, fmt.Errorf("reading the metrics page: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return load{}, fmt.Errorf("reading the metrics page: it was answered %d", response.StatusCode)
	}
	sample, err := servermetrics.Parse(response.Body, p.model)
	if err != nil {
		return load{}, err
	}
	if math.IsNaN(sample.Running) {
		return load{}, fmt.Errorf("the metrics page does not tell how many requests run")
	}
	l := load{running: sample.Running, waiting: sample.Waiting, kv: sample.KVUsage}
	for _, v := range []*float64{&l.waiting, &l.kv} {
		if math.IsNaN(*v) { // an engine without a queue, or a cache, to tell of
			*v = 0
		}
	}
	return l, nil
}
