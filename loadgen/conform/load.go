package conform

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/llmctl/llmctl/internal/servermetrics"
	"github.com/llmctl/llmctl/loadgen/client"
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
	response, err := p.metricsPage(ctx)
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

// metricsPage asks for the metrics page. A server that is asked for its own gets the
// run's key, since some want it there, too (llama.cpp's); others must not see it.
func (p *probe) metricsPage(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.o.Metrics, nil)
	if err != nil {
		return nil, err
	}
	if at, err := url.Parse(p.public); err == nil && at.Scheme == req.URL.Scheme && strings.EqualFold(at.Host, req.URL.Host) {
		client.Authorize(req.Header, p.o.Key, p.o.Endpoint)
	}
	return p.transport.RoundTrip(req)
}
