package telemetry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// Options say what to observe.
type Options struct {
	// Pages are the metrics pages of the target. Where there are several, each
	// is a part of it. None scrapes nothing.
	Pages []Page
	// Model is the name on the wire: where a page has series of several models,
	// those of this one count.
	Model string
	// Interval is the time between scrapes.
	Interval time.Duration
	// Transport carries the scrapes, over connections of its own; it is closed
	// at the end.
	Transport *http.Transport

	// GPUs are read while the run lasts, and closed at its end; nil reads none.
	GPUs GPUs

	// Warmup is when the window begins, by Now, which is the time since the
	// start of the run.
	Warmup time.Duration
	Now    func() time.Duration
}

// Page is a metrics page.
type Page struct {
	// URLs are where the page may be; the first that has known metrics is it.
	URLs []string
	// Named means that the user named it, so its absence is worth a word.
	Named  bool
	Header http.Header
}

// Observed is what a Watch has seen.
type Observed struct {
	Server   []record.ServerSample // page by page, each in order of time
	GPUs     []record.GPUSeries
	Client   record.Client // of the window
	Warnings []record.Warning
}

// Watch observes one run.
type Watch struct {
	scrapers []*scraper
	gpus     *gpuSampler
	health   *health

	cancel  context.CancelFunc
	ending  chan struct{}
	running sync.WaitGroup
	close   func()
}

// Start begins to observe. Its context is the user's, not that of the requests:
// what a drain cuts off ends before the last scrape.
func Start(ctx context.Context, o Options) *Watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{cancel: cancel, ending: make(chan struct{}), close: func() {}}
	edge := edges{warmup: o.Warmup, now: o.Now, ending: w.ending}
	w.health = startHealth(o.Warmup)
	w.running.Go(func() { w.health.watch(ctx, w.ending) })
	if len(o.Pages) > 0 {
		client := &http.Client{Transport: o.Transport, Timeout: scrapeTimeout}
		w.close = o.Transport.CloseIdleConnections
		for _, page := range o.Pages {
			s := newScraper(page, o, client, len(o.Pages) > 1)
			w.scrapers = append(w.scrapers, s)
			w.running.Go(func() { s.loop(ctx, o.Interval, edge.with(s.mark)) })
		}
	}
	if o.GPUs != nil {
		w.gpus = newGPUSampler(o.GPUs, o.Now)
		w.running.Go(func() { w.gpus.loop(ctx, edge.with(w.gpus.mark)) })
	}
	return w
}

// WindowEnds says that the window ends now, so that counters are read at its
// edge. It may be said again: the last time counts.
func (w *Watch) WindowEnds() {
	w.health.stop()
	for _, s := range w.scrapers {
		poke(s.mark)
	}
	if w.gpus != nil {
		poke(w.gpus.mark)
	}
}

// Latest is what the target said last, its pages together; nil when it has not
// said anything.
func (w *Watch) Latest() *record.ServerSample {
	var last []record.ServerSample
	for _, s := range w.scrapers {
		if sample, ok := s.latest(); ok {
			last = append(last, sample)
		}
	}
	if len(last) == 0 {
		return nil
	}
	together := record.Together(last)
	return &together
}

// Stop takes the last readings and returns all of them, without what only the
// edges of the window tell elsewhere.
func (w *Watch) Stop(window record.Window) Observed {
	close(w.ending)
	w.running.Wait()
	w.cancel()
	w.close()
	out := Observed{Client: w.health.result()}
	for _, s := range w.scrapers {
		out.Server = append(out.Server, record.Thin(s.samples.all, window)...)
		out.Warnings = append(out.Warnings, s.warnings()...)
	}
	if w.gpus != nil {
		out.GPUs = w.gpus.close()
	}
	return out
}

// poke sends a sign that is not lost when nobody waits for it yet.
func poke(sign chan<- struct{}) {
	select {
	case sign <- struct{}{}:
	default: // one is waiting already
	}
}
