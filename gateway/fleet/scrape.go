package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/llmctl/llmctl/internal/servermetrics"
	"github.com/llmctl/llmctl/reports/record"
)

// maxPage is the largest page of metrics that is read.
const maxPage = 4 << 20

// scrape reads an endpoint's metrics, period by period, until ctx ends.
func (f *Fleet) scrape(ctx context.Context, p *Pool, e *Endpoint, pages []string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for at := 0; ; {
		own, tokens := p.sent(e)
		asked := f.now()
		page, capacity, err := f.read(ctx, pages[at], max(every, time.Second))
		if err != nil {
			at = (at + 1) % len(pages) // the endpoint may have it at the other place
		}
		p.note(ctx, e, asked, own, tokens, page, capacity, err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sent is what is in flight at an endpoint from here.
func (p *Pool) sent(e *Endpoint) (requests, tokens int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return e.inFlight, e.tokens
}

// note takes in a page, or that there was none: then what is known grows old. A
// reading that was ended meanwhile, under the pool's lock, says nothing.
func (p *Pool) note(ctx context.Context, e *Endpoint, asked time.Duration, own, tokens int64, page record.ServerSample, capacity int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		e.told(page, asked, own, tokens, p.spec.ShedQueue)
		if capacity > 0 {
			e.holds(capacity)
		}
	}
	p.pump(p.now())
}

// read gets one page. It is bounded in time and size, and follows no redirect.
func (f *Fleet) read(ctx context.Context, url string, patience time.Duration) (page record.ServerSample, capacity int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return page, 0, err
	}
	r.Header.Set("Accept", "text/plain")
	r.Header.Set("User-Agent", "llmctl-gateway")
	response, err := f.client.Do(r)
	if err != nil {
		return page, 0, err
	}
	defer func() { _ = response.Body.Close() }() // it is read to its end, or of no use
	if response.StatusCode != http.StatusOK {
		return page, 0, fmt.Errorf("reading %s: status %d", url, response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	if err != nil {
		return page, 0, fmt.Errorf("reading %s: %w", url, err)
	}
	if len(text) > maxPage {
		return page, 0, fmt.Errorf("reading %s: more than %d bytes", url, maxPage)
	}
	if page, err = servermetrics.Parse(bytes.NewReader(text), ""); err != nil {
		return page, 0, err
	}
	capacity, _ = servermetrics.Capacity(text)
	return page, capacity, nil
}
