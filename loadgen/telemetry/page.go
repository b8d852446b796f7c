package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
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

// scraper reads one metrics page through the run. What fails is left out.
type scraper struct {
	page   Page
	tag    string // of its samples, where there are several pages
	model  string
	client *http.Client
	now    func() time.Duration
	mark   chan struct{}

	url     string // of the page, once it is found
	mu      sync.Mutex
	samples series[record.ServerSample]
	failure error // of the last scrape
}

func newScraper(page Page, o Options, c *http.Client, tagged bool) *scraper {
	s := &scraper{page: page, model: o.Model, client: c, now: o.Now, mark: make(chan struct{}, 1)}
	if tagged && len(page.URLs) > 0 {
		s.tag = client.PublicURL(page.URLs[0])
	}
	return s
}

// loop scrapes at the start, at each interval, and at the edges of the window,
// so that counters cover it. A page that nobody named and that is not there is
// not asked for again.
func (s *scraper) loop(ctx context.Context, interval time.Duration, at edges) {
	due := func(n int) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.samples.due(n)
	}
	at.run(ctx, interval, due, func() bool {
		s.scrape(ctx)
		return s.page.Named || s.url != ""
	})
}

// scrape takes one sample. Until the page is found, it is looked for at each of
// its addresses; the JSON of trtllm-serve, which counts nothing, is taken only
// where there is no Prometheus page beside it.
func (s *scraper) scrape(ctx context.Context) {
	candidates := s.page.URLs
	if s.url != "" {
		candidates = []string{s.url}
	}
	var second *reading
	var failure error
	for _, candidate := range candidates {
		r := s.fetch(ctx, candidate)
		switch {
		case r.err == nil && !r.json:
			s.keep(r)
			return
		case r.json && (r.err == nil || errors.Is(r.err, servermetrics.ErrNothingNew)):
			second = &r
		case failure == nil: // the first address is the likeliest
			failure = r.err
		}
	}
	if second != nil {
		s.keep(*second)
		return
	}
	s.mu.Lock()
	s.failure = failure
	s.mu.Unlock()
}

// reading is what one address answered.
type reading struct {
	url    string
	sample record.ServerSample
	json   bool
	err    error
}

// keep remembers where the page is, and what it said, if that is new.
func (s *scraper) keep(r reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url, s.failure = r.url, nil
	if r.err == nil {
		r.sample.Page = s.tag
		s.samples.add(r.sample)
	}
}

// fetch reads a page. Its time is that of the response's head: whoever had to
// wait for a busy server waited before the page was written.
func (s *scraper) fetch(ctx context.Context, page string) (r reading) {
	r.url = page
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		r.err = fmt.Errorf("%s is no address of a page", client.PublicURL(page))
		return r
	}
	request.Header = http.Header{"Accept": {"text/plain;version=0.0.4"}}
	maps.Copy(request.Header, s.page.Header)
	response, err := s.client.Do(request)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) { // it shows the query
			err = fmt.Errorf("%s: %w", client.PublicURL(page), inner.Err)
		}
		r.err = err
		return r
	}
	at := s.now()
	defer func() { _ = response.Body.Close() }() // read to its end, or not wanted
	if response.StatusCode != http.StatusOK {
		r.err = fmt.Errorf("%s answered %s", client.PublicURL(page), response.Status)
		return r
	}
	r.json = strings.Contains(response.Header.Get("Content-Type"), "json")
	r.sample, r.err = servermetrics.Parse(io.LimitReader(response.Body, maxMetricsPage), s.model)
	r.sample.At = at
	if r.err == nil && r.sample.Empty() {
		r.err = fmt.Errorf("%s has none of the metrics of a known inference server", client.PublicURL(page))
	}
	return r
}

// latest is the last sample.
func (s *scraper) latest() (sample record.ServerSample, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples.all) == 0 {
		return sample, false
	}
	return s.samples.all[len(s.samples.all)-1], true
}

// warnings say when a page that the user named could not be read.
func (s *scraper) warnings() []record.Warning {
	if !s.page.Named || len(s.samples.all) > 0 || s.failure == nil {
		return nil
	}
	return []record.Warning{{Code: "no_server_metrics", Text: "no server metrics: " + client.OneLine(s.failure.Error())}}
}
