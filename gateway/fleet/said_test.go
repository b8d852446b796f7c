package fleet

import (
	"math"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/reports/record"
)

// told is a page with these numbers; below zero a number is not on it.
func told(running, waiting, usage float64) record.ServerSample {
	s := record.UnknownSample()
	for _, n := range []struct {
		to   *float64
		from float64
	}{{&s.Running, running}, {&s.Waiting, waiting}, {&s.KVUsage, usage}} {
		if n.from >= 0 {
			*n.to = n.from
		}
	}
	return s
}

func TestView(t *testing.T) {
	tests := []struct {
		name string
		page record.ServerSample
		then int64 // in flight from here when it was read
		now  int64 // and now
		age  time.Duration
		want view
	}{
		{"our own, as it says", told(4, 0, 0.5), 4, 4, 0, view{4, 0, 0.5}},
		{"others are there, too", told(10, 2, 0.5), 4, 4, 0, view{12, 2, 0.5}},
		{"what was sent since is added", told(10, 0, 0.5), 4, 9, 0, view{15, 0, 0.625}},
		{"and waits where others wait", told(10, 2, 0.5), 4, 9, 0, view{17, 7, 0.625}},
		{"what has ended since is taken off", told(4, 0, 0.5), 4, 1, 0, view{1, 0, 0.425}},
		{"sent, but not there yet", told(1, 0, 0.1), 4, 4, 0, view{4, 0, 0.1}},
		{"two periods old", told(10, 2, 0.5), 4, 4, 2 * time.Second, view{12, 2, 0.5}},
		{"three periods old and more: unknown, not zero", told(10, 2, 0.9), 4, 4, 3*time.Second + 1, view{4, 0, 0}},
		{"a page without numbers", told(-1, -1, -1), 4, 4, 0, view{4, 0, 0}},
		{"waiting alone", told(-1, 3, -1), 4, 4, 0, view{4, 3, 0}},
		{"usage alone", told(-1, -1, 0.3), 4, 4, 0, view{4, 0, 0.3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := spec(t, provider(1))
			e := newEndpoint("http://e", &s)
			e.every = time.Second
			e.capacity = 4000 // and each request has 100 tokens
			e.inFlight, e.tokens = test.then, 100*test.then
			e.told(test.page, time.Hour, test.then, 100*test.then, 0)
			e.inFlight, e.tokens = test.now, 100*test.now
			got := e.view(time.Hour + test.age)
			if got.load != test.want.load || got.waiting != test.want.waiting || math.Abs(got.usage-test.want.usage) > 1e-9 {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestFull(t *testing.T) {
	tests := []struct {
		name string
		edit func(*config.Provider)
		page record.ServerSample
		own  int64
		want bool
	}{
		{"no bounds", func(*config.Provider) {}, told(100, 100, 1), 100, false},
		{"one less than in flight allows", func(p *config.Provider) { p.InFlight = 5 }, told(100, 100, 1), 4, false},
		{"as many as in flight allows", func(p *config.Provider) { p.InFlight = 5 }, told(0, 0, 0), 5, true},
		{"its queue is short", func(p *config.Provider) { p.Shed.Queue = 5 }, told(10, 4, 1), 0, false},
		{"its queue is long", func(p *config.Provider) { p.Shed.Queue = 5 }, told(10, 5, 0), 0, true},
		{"its cache has room", func(p *config.Provider) { p.Shed.KVUsage = 0.8 }, told(10, 9, 0.79), 0, false},
		{"its cache is full", func(p *config.Provider) { p.Shed.KVUsage = 0.8 }, told(10, 0, 0.8), 0, true},
		{"its cache is full, of what nobody uses", func(p *config.Provider) { p.Shed.KVUsage = 0.8 }, told(0, 0, 1), 0, false},
		{"nothing is known", func(p *config.Provider) { p.Shed.KVUsage, p.Shed.Queue = 0.8, 5 }, told(-1, -1, -1), 50, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := spec(t, provider(1, test.edit))
			e := newEndpoint("http://e", &s)
			e.every, e.inFlight = time.Second, test.own
			e.told(test.page, time.Hour, test.own, 0, s.ShedQueue)
			if got := e.full(e.view(time.Hour), &s); got != test.want {
				t.Errorf("full: %v, want %v", got, test.want)
			}
		})
	}
}

// engine is a server that runs up to slots requests at once.
type engine struct{ slots, here float64 }

func (e *engine) page() record.ServerSample {
	running := min(e.slots, e.here)
	return told(running, e.here-running, running/e.slots)
}

// A queue that has built up in the gateway is not poured into the engine at the
// first reading that finds it with a place: between readings the gateway reckons
// with what it has sent.
func TestNoHerdBetweenReadings(t *testing.T) {
	p, c := still(t, provider(1, func(p *config.Provider) { p.Shed.Queue = 5 }))
	e, server := p.endpoints[0], &engine{slots: 32}
	var leases []*Lease
	send := func() (n int) {
		for range 1000 {
			l, err := p.Acquire(t.Context(), Want{NoWait: true})
			if err != nil {
				break
			}
			leases = append(leases, l)
			server.here++
			n++
		}
		return n
	}
	read := func() {
		c.at += time.Second
		e.told(server.page(), c.at, e.inFlight, e.tokens, p.spec.ShedQueue)
	}
	finish := func(n int) {
		for _, l := range leases[:n] {
			l.Release(OK)
			server.here--
		}
		leases = leases[n:]
	}
	for range 40 {
		leases = append(leases, take(t, p, Want{}))
		server.here++
	}
	read() // 32 run and 8 wait
	if n := send(); n != 0 {
		t.Errorf("%d sent to a full engine", n)
	}
	finish(10)
	if n := send(); n != 7 {
		t.Errorf("%d sent when ten had ended, want as many as fill the queue again", n)
	}
	finish(37)
	read() // it is idle
	if n := send(); n > 37 {
		t.Errorf("%d sent at once to an engine with 32 places and 5 to wait", n)
	}
	// It is found out when an engine has come to run more at once.
	server.slots = 1000
	sent := 0
	for range 10 {
		read()
		sent += send()
	}
	if sent < 300 {
		t.Errorf("only %d more were sent to an engine that has become larger", sent)
	}
}

// Likewise for the cache: what was sent since counts by its tokens.
func TestNoHerdIntoAFullCache(t *testing.T) {
	p, c := still(t, provider(1, func(p *config.Provider) { p.Shed.KVUsage = 0.75 }))
	e := p.endpoints[0]
	e.holds(10_000)
	take(t, p, Want{Tokens: 100})
	e.told(told(1, 0, 0.5), c.at, 1, 100, 0)
	n := 0
	for ; n < 1000; n++ {
		if _, err := p.Acquire(t.Context(), Want{Tokens: 100, NoWait: true}); err != nil {
			break
		}
	}
	if n != 25 {
		t.Errorf("%d requests of 100 tokens sent into a quarter of 10,000", n)
	}
}

// Of two endpoints the one with less to do gets the request, whoever gave it that.
func TestOthersLoadCounts(t *testing.T) {
	p, c := still(t, provider(2, func(p *config.Provider) { p.Router.Policy = config.PolicyLeastLoaded }))
	busy, free := p.endpoints[0], p.endpoints[1]
	for _, e := range p.endpoints {
		e.every = time.Second
	}
	busy.told(told(10, 0, 0.2), c.at, 0, 0, 0)
	free.told(told(0, 0, 0), c.at, 0, 0, 0)
	for range 10 {
		if l := take(t, p, Want{}); l.Endpoint() != free {
			t.Fatalf("went to the one with ten of another gateway's")
		}
	}
	c.at += 4 * time.Second // nothing is known any more: own counts alone
	if l := take(t, p, Want{}); l.Endpoint() != busy {
		t.Error("went to the one with more of our own")
	}
}
