package loadgen

import (
	"context"
	"net/http"
	"strings"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/telemetry"
)

// observe begins to watch the target, this machine and this process.
func (r *runner) observe(ctx context.Context) *telemetry.Watch {
	o := telemetry.Options{
		Model: r.o.Model, Interval: r.o.MetricsInterval, GPUs: r.o.GPUs, Warmup: r.o.Warmup, Now: r.now,
	}
	if r.o.MetricsInterval > 0 {
		o.Pages = r.pages()
		o.Transport = r.o.Client.NewTransport()
	}
	return telemetry.Start(ctx, o)
}

// pages are those that the user named, which get no credentials; else the one
// that may be at each endpoint, at /metrics beside /v1 or where trtllm-serve has
// it, which gets the credentials of the requests.
func (r *runner) pages() (pages []telemetry.Page) {
	for _, url := range r.o.MetricsURLs {
		pages = append(pages, telemetry.Page{URLs: []string{url}, Named: true})
	}
	if len(pages) > 0 {
		return pages
	}
	for _, endpoint := range r.o.Client.Endpoints() {
		header := http.Header{}
		client.Authorize(header, r.o.Client.APIKey, endpoint)
		usual := client.Metrics(endpoint)
		pages = append(pages, telemetry.Page{URLs: []string{usual, strings.TrimSuffix(usual, "metrics") + "prometheus/metrics"}, Header: header})
	}
	return pages
}
