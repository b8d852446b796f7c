package gateway

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	ws "github.com/coder/websocket"
	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
)

// crowd is a gateway with everything switched on at once, in front of engines that
// do whatever engines do.
type crowd struct {
	*stand
	open  atomic.Int64 // connections to engines
	store string       // file of the usage

	mu    sync.Mutex
	left  map[string]time.Time // when the client of a request left, by request id
	ended map[string]time.Time // when its engine heard of it
}

func newCrowd(t *testing.T, edit ...func(*config.Config, *Options)) *crowd {
	c := &crowd{left: map[string]time.Time{}, ended: map[string]time.Time{}, store: filepath.Join(t.TempDir(), "usage.db")}
	engine := httptest.NewServer(http.HandlerFunc(c.engine))
	t.Cleanup(engine.Close)
	other := httptest.NewServer(http.HandlerFunc(c.engine))
	t.Cleanup(other.Close)
	everything := func(cfg *config.Config, o *Options) {
		half := 0.5
		limits := config.Limits{RPM: 1 << 30, InputTPM: 1 << 39, OutputTPM: 1 << 39, Concurrent: 1000, USDPerDay: 1e6, USDPerMonth: 1e6}
		for i := range cfg.Tenants {
			cfg.Tenants[i].Limits = limits
			cfg.Tenants[i].Keys[0].Limits = limits
		}
		cfg.Providers[0].Endpoints = []string{engine.URL, other.URL}
		cfg.Providers[0].Router.Policy = "prefix_affinity"
		cfg.Providers[0].InFlight, cfg.Providers[0].MaxQueue = 8, 1000
		cfg.Providers[0].Breaker.MinRequests = 1_000_000 // what fails here says nothing of an engine
		cfg.Providers = append(cfg.Providers, config.Provider{Name: "spare", Kind: "openai", Endpoints: []string{other.URL}})
		cfg.Filters = []config.Filter{{Name: "words", Kind: "keyword", Words: []string{"forbidden"}, On: "both"}}
		m := &cfg.Models[0]
		m.Retry = config.Retry{Attempts: 3, Backoff: config.Duration(5 * time.Millisecond)}
		m.Fallback = []config.Target{{Provider: "spare", Model: "spare-model"}}
		m.Cache = config.Cache{Exact: true, TTL: config.Duration(20 * time.Millisecond), Charge: &half}
		m.Filters = []string{"words"}
		m.MaxTokens = config.MaxTokens{Default: 100}
		m.Timeouts.FirstToken = config.Duration(100 * time.Millisecond)
		cfg.SSEKeepAlive = config.Duration(time.Millisecond)
		priced(cfg, o)
		o.Client = newClient()
		transport := o.Client.Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if rand.IntN(4) == 0 { // a slow network
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(rand.N(3 * time.Millisecond)):
				}
			}
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			c.open.Add(1)
			return &countedConn{Conn: conn, open: &c.open}, nil
		}
		ledger, err := usage.Open(t.Context(), "sqlite:"+c.store, usage.Options{Logger: o.Logger})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ledger.Close() })
		o.Ledger = ledger
	}
	c.stand = front(t, engine.URL, append([]func(*config.Config, *Options){everything, traced(tracetest.NewInMemoryExporter())}, edit...)...)
	return c
}

// countedConn counts connections that are open.
type countedConn struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// engine answers in one of the ways in which engines answer, and notes when it is
// told to stop.
func (c *crowd) engine(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := r.Header.Get("X-Request-Id")
	defer func() {
		if r.Context().Err() != nil {
			c.note(c.ended, id)
		}
	}()
	pause := func() {
		select {
		case <-r.Context().Done():
		case <-time.After(rand.N(4 * time.Millisecond)):
		}
	}
	pause()
	if !gjson.GetBytes(body, "stream").Bool() {
		replies(200, plainReply)(w, r)
		return
	}
	switch rand.IntN(8) {
	case 0:
		<-r.Context().Done() // never answers
	case 1:
		w.WriteHeader(http.StatusInternalServerError)
	case 2:
		sse(w, roleEvent)
		<-r.Context().Done() // never says anything
	case 3:
		sse(w, roleEvent, helloEvent)
		pause()
		panic(http.ErrAbortHandler)
	case 4:
		sse(w, helloEvent, `data: {"id":"1","choices":[{"index":0,"delta":{"content":" forbidden words"}}]}`+"\n\n", finishEvent, doneEvent)
	case 5:
		for r.Context().Err() == nil {
			sse(w, helloEvent)
			pause()
		}
	default:
		sse(w, roleEvent, helloEvent)
		pause()
		sse(w, worldEvent, finishEvent, usageEvent, doneEvent)
	}
}

func (c *crowd) note(in map[string]time.Time, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in[id].IsZero() {
		in[id] = time.Now()
	}
}

// client sends one request of some kind and leaves at some moment.
func (c *crowd) client(t *testing.T, i int) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	id := fmt.Sprintf("crowd-%d", i)
	most := time.Millisecond << rand.IntN(11) // up to a second: every phase has its share, on slow machines, too
	timer := time.AfterFunc(rand.N(most), func() {
		c.note(c.left, id)
		leave()
	})
	defer timer.Stop()
	kind := rand.IntN(6)
	body := fmt.Sprintf(`{"model":"small","stream":%t,"temperature":%d,"messages":[{"role":"user","content":"question %d"}]}`,
		kind < 4, min(kind, 1), rand.IntN(3)) // of kind 0 there are few, which share their answers
	key := []string{searchKey, chatKey}[rand.IntN(2)]
	if kind == 3 {
		c.socket(ctx, key, body)
		return
	}
	r := c.request(ctx, body)
	r.Header.Set("Authorization", "Bearer "+key)
	if kind > 0 { // a shared request belongs to several clients
		r.Header.Set("X-Request-Id", id)
	}
	if kind == 5 {
		r.Header.Set(headerIdempotency, fmt.Sprintf("key-%d", rand.IntN(5)))
	}
	if kind%2 == 0 {
		r.Header.Set(classHeader, "batch")
	}
	if response, err := c.stand.client.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

func (c *crowd) socket(ctx context.Context, key, body string) {
	conn, _, err := ws.Dial(ctx, c.url+"/v1/chat/completions", &ws.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}}) //nolint:bodyclose // there is none after an upgrade
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // it may be closed
	if conn.Write(ctx, ws.MessageText, []byte(body)) != nil {
		return
	}
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			return
		}
	}
}

// A thousand clients leave at random moments, while their requests wait in the
// queue, for a connection, for the header, the first token, the next one, a retry, a
// fallback, an equal request or a whole answer, over HTTP and WebSocket; with limits
// in memory and in Redis. Nothing of them is left, and all books say the same.
func TestThousandClientsLeaveWithEverythingSwitchedOn(t *testing.T) {
	shared := miniredis.RunT(t)
	for name, edit := range map[string]func(*config.Config, *Options){"limits in memory": priced, "limits in Redis": sharing(shared, "")} {
		t.Run(name, func(t *testing.T) {
			const requests, parallel = 1000, 20
			c := newCrowd(t, edit)
			var clients sync.WaitGroup
			for n := range parallel {
				clients.Go(func() {
					for i := range requests / parallel {
						c.client(t, n*requests+i)
					}
				})
			}
			clients.Wait()
			c.nothingIsLeft()
			c.booksAgree()
			c.tellHowSoon()
		})
	}
	for _, key := range shared.Keys() {
		if !strings.HasSuffix(key, ":open") {
			continue
		}
		fields, err := shared.HKeys(key)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			if record := shared.HGet(key, f); strings.HasPrefix(record, "open") {
				t.Errorf("%s holds %q", key, record)
			}
		}
	}
}

// nothingIsLeft checks that requests which are over hold nothing. It waits for the
// last of them.
func (c *crowd) nothingIsLeft() {
	t, g := c.t, c.gateway
	t.Helper()
	g.open.Lock() // every request has ended
	for _, pool := range g.fleet.Status() {
		for _, e := range pool.Endpoints {
			if e.InFlight != 0 {
				t.Errorf("%d requests in flight at %s", e.InFlight, e.URL)
			}
		}
		for class, n := range pool.Waiting {
			if n != 0 {
				t.Errorf("%d requests of class %s wait for %s", n, class, pool.Provider)
			}
		}
	}
	if _, n := g.lives.list(time.Now(), 0); n != 0 {
		t.Errorf("%d requests are still listed as live", n)
	}
	if n := g.answers.flights.Len(); n != 0 {
		t.Errorf("%d answers are still awaited", n)
	}
	groups, err := g.ledger.Sums(context.Background(), usage.Query{By: []usage.Dimension{usage.Tenant}, From: always.From, To: always.To})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		standing, err := g.limits.Standing(context.Background(), group.Values[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range standing {
			if s.Open != 0 || s.Held != 0 {
				t.Errorf("%d slots and %v are held of %+v", s.Open, s.Held, s.Account)
			}
			if int64(s.Day.Spent) != group.InputCost+group.OutputCost {
				t.Errorf("budget of %+v: %v spent, and usage says %d nano-dollars", s.Account, s.Day.Spent, group.InputCost+group.OutputCost)
			}
		}
	}
	if len(groups) != 2 {
		t.Errorf("usage of %d tenants, want 2", len(groups))
	}
	g.open.Unlock()
	for i := range 5 { // no idempotency key is taken by a request that is over
		r := c.request(t.Context(), fmt.Sprintf(`{"model":"small","user":"%d"}`, i))
		r.Header.Set(headerIdempotency, fmt.Sprintf("key-%d", i))
		if got := c.do(r); got.status == http.StatusConflict {
			t.Errorf("key-%d is still taken", i)
		}
	}
}

// booksAgree checks that limits, usage, metrics and the file say the same, and that
// no connection is left.
func (c *crowd) booksAgree() {
	t := c.t
	t.Helper()
	c.settled()
	sums, counted := c.sums(), int64(0)
	for line := range strings.Lines(c.metrics()) {
		if strings.HasPrefix(line, "llmctl_gateway_tokens_total{") && (strings.Contains(line, `kind="input"`) || strings.Contains(line, `kind="output"`)) {
			var n float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &n); err != nil {
				t.Fatal(err)
			}
			counted += int64(n)
		}
	}
	settled := c.gateway.limits.Ledger()
	if counted != sums.Input+sums.Output || counted == 0 {
		t.Errorf("metrics say %d tokens, usage %d", counted, sums.Input+sums.Output)
	}
	if int64(settled.Cost) != sums.InputCost+sums.OutputCost {
		t.Errorf("limits were settled to %v, usage says %d nano-dollars", settled.Cost, sums.InputCost+sums.OutputCost)
	}
	reader, err := usage.OpenReader(context.Background(), "sqlite:"+c.store, usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	var single usage.Sums
	err = reader.Requests(context.Background(), always.From, always.To, func(r *usage.Record) error {
		single.Requests++
		single.Input += r.Tokens.Input
		single.Output += r.Tokens.Output
		return nil
	})
	if err != nil || single.Requests != sums.Requests || single.Input != sums.Input || single.Output != sums.Output {
		t.Errorf("the file has %d requests with %d and %d tokens, sums say %d, %d and %d (%v)",
			single.Requests, single.Input, single.Output, sums.Requests, sums.Input, sums.Output, err)
	}
	until(t.(*testing.T), "connections to engines to close", func() bool { return c.open.Load() == 0 })
}

// tellHowSoon logs how soon engines heard that a client had left. It judges nothing
// but that they did: a busy machine is slow.
func (c *crowd) tellHowSoon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var took []time.Duration
	for id, left := range c.left {
		if ended, ok := c.ended[id]; ok && ended.After(left) {
			took = append(took, ended.Sub(left))
		}
	}
	slices.Sort(took)
	if len(took) == 0 {
		return // on a machine so slow that no request got to an engine in time
	}
	c.t.Logf("%d engines heard that the client had left after %v in the median, %v at p99, %v at most",
		len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	if last := took[len(took)-1]; last > patience {
		c.t.Errorf("an engine heard of it after %v", last)
	}
}
