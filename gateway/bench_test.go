package gateway

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
)

// BenchmarkOverhead sends one request at a time, for a stream of 20 events or a whole
// answer: straight to the upstream, through a bare reverse proxy of the standard library, and
// through the gateway with auth, limits, metering and logs on and 500 tenants
// configured. What the gateway adds is the difference to the first, and a fair
// price for it is what the second adds.
func BenchmarkOverhead(b *testing.B) {
	events := []string{roleEvent}
	for range 18 {
		events = append(events, helloEvent)
	}
	events = append(events, finishEvent, usageEvent, doneEvent)
	answer := strings.Join(events, "")
	upstream := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, plainReply)
			return
		}
		sse(w, answer)
	}
	tenants := func(c *config.Config, _ *Options) {
		c.Tenants[0].Limits = config.Limits{RPM: 1 << 39, InputTPM: 1 << 39, OutputTPM: 1 << 39, Concurrent: 1000}
		for i := range 500 {
			name := "tenant-" + strings.Repeat("x", i%7) + config.HashKey(string(rune(i)))[7:20]
			c.Tenants = append(c.Tenants, config.Tenant{Name: name, Keys: []config.Key{{Hash: config.HashKey(name)}}})
		}
	}
	s := serve(b, upstream, tenants)
	direct := httptest.NewServer(http.HandlerFunc(upstream))
	b.Cleanup(direct.Close)
	target, err := url.Parse(direct.URL)
	if err != nil {
		b.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}
	b.Cleanup(transport.CloseIdleConnections)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport:     transport,
	})
	b.Cleanup(proxy.Close)
	for _, hop := range []struct{ name, url string }{{"direct", direct.URL}, {"proxy", proxy.URL}, {"gateway", s.url}} {
		for _, kind := range []struct{ name, body, end string }{{"stream", streamBody, doneEvent}, {"whole", plainBody, "}"}} {
			b.Run(kind.name+"/"+hop.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, hop.url+"/v1/chat/completions", strings.NewReader(kind.body))
					if err != nil {
						b.Fatal(err)
					}
					r.Header.Set("Authorization", "Bearer "+searchKey)
					if got := s.do(r); got.status != 200 || !strings.HasSuffix(got.body, kind.end) {
						b.Fatalf("status %d: %s", got.status, got.body)
					}
				}
			})
		}
	}
}
