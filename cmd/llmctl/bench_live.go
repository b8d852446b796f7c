package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/buildinfo"
	"github.com/llmctl/llmctl/loadgen/telemetry"
	"github.com/llmctl/llmctl/reports/record"
)

// livePage shows the runs of a bench to Prometheus while they last. A nil one
// shows nothing.
type livePage struct {
	exporter *telemetry.Exporter
	listener *listener
	serving  sync.WaitGroup
}

// openLivePage begins to answer scrapes, where that was asked for.
func (b *bench) openLivePage() (*livePage, error) {
	addr := b.flags.telemetry.addr
	if addr == "" {
		return nil, nil //nolint:nilnil // a page that was not asked for is no error
	}
	p := &livePage{exporter: telemetry.NewExporter(buildinfo.Version())}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.exporter)
	l, err := listen(addr, mux)
	if err != nil {
		return nil, fmt.Errorf("--metrics-addr: %w", err)
	}
	p.listener = l
	p.serving.Go(func() {
		if err := l.server.Serve(l.Listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(b.io.Err, "warning: --metrics-addr: %v\n", err) // the run goes on
		}
	})
	if b.progress() == "plain" {
		fmt.Fprintf(b.io.Err, "metrics of the run: %s/metrics\n", l.url())
	}
	return p, nil
}

// observe makes the page hear what others hear of a run.
func (p *livePage) observe(add func(*record.Record), show func(record.Live)) (func(*record.Record), func(record.Live)) {
	if p == nil {
		return add, show
	}
	return func(r *record.Record) {
			p.exporter.Record(r)
			add(r)
		}, func(l record.Live) {
			p.exporter.Show(l)
			show(l)
		}
}

// The longest time that a page outlives its run for its last values to be
// fetched, and what is allowed for a scrape that comes late.
const (
	maxLinger   = 15 * time.Second
	scrapeSlack = time.Second
)

// close ends the page. If it was being scraped, the next scrape still finds the
// final values, unless the user is done waiting.
func (p *livePage) close(ctx context.Context, stop *stopper) {
	if p == nil {
		return
	}
	if next := p.exporter.NextScrape(time.Now()); next > 0 && !stop.used() {
		timer := time.NewTimer(min(next+scrapeSlack, maxLinger))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-stop.stopped:
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scrapeSlack)
	defer cancel()
	if err := p.listener.server.Shutdown(ctx); err != nil {
		_ = p.listener.server.Close() // out of patience: what still reads is cut
	}
	p.serving.Wait()
}
