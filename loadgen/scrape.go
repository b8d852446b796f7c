package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/servermetrics"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/reports/record"
)

// scrapeTimeout bounds one scrape. A server under load may be slow with it.
const scrapeTimeout = 5 * time.Second

// maxMetricsPage is how much of a page is read, in bytes.
const maxMetricsPage = 16 << 20

// scraper reads the target's metrics page through the run, over a connection of
// its own. What fails is left out; it never disturbs the run.
type scraper struct {
	url      string
	explicit bool // the user named the page, so its absence is worth a word
	header   http.Header
	http     *http.Client
	now      func() time.Duration
	cancel   context.CancelFunc
	exited   chan struct{}
	ending   chan struct{}

	mu      sync.Mutex
	samples []record.ServerSample
	failure error // of the last scrape
}

// startScraper begins to scrape. Its context is the user's, not that of the
// requests: what a drain cuts off ends before the last scrape.
func startScraper(ctx context.Context, r *runner) *scraper {
	s := &scraper{
		url:      r.o.MetricsURL,
		explicit: r.o.MetricsURL != "",
		header:   http.Header{"Accept": {"text/plain;version=0.0.4"}},
		now:      r.now,
		exited:   make(chan struct{}),
		ending:   make(chan struct{}),
	}
	if !s.explicit {
		s.url = client.Metrics(r.o.Client.Endpoint)
		client.Authorize(s.header, r.o.Client.APIKey, r.o.Client.Endpoint)
	}
	ctx, s.cancel = context.WithCancel(ctx)
	if r.o.MetricsInterval < 0 {
		close(s.exited)
		return s
	}
	o := r.o.Client
	o.HTTP = client.HTTP1 // whatever the target's API is spoken over, exporters speak this
	transport := o.NewTransport()
	s.http = &http.Client{Transport: transport, Timeout: scrapeTimeout}
	go func() {
		defer close(s.exited)
		defer transport.CloseIdleConnections()
		s.loop(ctx, r.o.MetricsInterval)
	}()
	return s
}

// loop scrapes at the start, at each interval, and once more at the end, so
// that counters cover the whole run.
func (s *scraper) loop(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	found := s.scrape(ctx)
	if !found && !s.explicit {
		return // no page where one might have been
	}
	for {
		select {
		case <-ticker.C:
			s.scrape(ctx)
		case <-s.ending:
			s.scrape(ctx)
			return
		case <-ctx.Done():
			return
		}
	}
}

// scrape takes one sample; ok is false when there was nothing to take.
func (s *scraper) scrape(ctx context.Context) (ok bool) {
	at := s.now()
	sample, err := s.fetch(ctx)
	if err == nil && servermetrics.Empty(sample) {
		err = fmt.Errorf("%s has none of the metrics of a known inference server", client.PublicURL(s.url))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
	if err != nil {
		return false
	}
	sample.At = at
	s.samples = append(s.samples, sample)
	return true
}

func (s *scraper) fetch(ctx context.Context) (record.ServerSample, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return servermetrics.Unknown(), err
	}
	request.Header = s.header
	response, err := s.http.Do(request)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) { // it shows the query
			err = fmt.Errorf("%s: %w", client.PublicURL(s.url), inner.Err)
		}
		return servermetrics.Unknown(), err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or not wanted
	if response.StatusCode != http.StatusOK {
		return servermetrics.Unknown(), fmt.Errorf("%s answered %s", client.PublicURL(s.url), response.Status)
	}
	return servermetrics.Parse(io.LimitReader(response.Body, maxMetricsPage))
}

// latest is the last sample, nil when there is none.
func (s *scraper) latest() *record.ServerSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == 0 {
		return nil
	}
	sample := s.samples[len(s.samples)-1]
	return &sample
}

// stop takes the last sample and returns all of them in order.
func (s *scraper) stop() []record.ServerSample {
	close(s.ending)
	<-s.exited
	s.cancel()
	return s.samples
}

// warnings say when a page that the user named could not be read.
func (s *scraper) warnings() []record.Warning {
	if !s.explicit || len(s.samples) > 0 || s.failure == nil {
		return nil
	}
	return []record.Warning{{Code: "no_server_metrics", Text: "no server metrics: " + client.OneLine(s.failure.Error())}}
}
