package simulator

import (
	"testing"

	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
)

// bench is a cluster whose replicas change their states by hand.
type bench struct {
	t     *testing.T
	s     *sim
	ended map[int64]string
}

func newBench(t *testing.T, cluster profiles.Cluster) *bench {
	t.Helper()
	one := profiles.Distribution{Kind: profiles.Fixed, Mean: 1}
	stream, err := workload.New(profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 1}, Input: one, Output: one}, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ended: map[int64]string{}}
	b.s = &sim{
		config: Config{Pools: []Pool{{Replicas: cluster.Replicas, Kind: toy()}}, Cluster: cluster},
		ended:  -1, flying: map[int64]*request{}, meter: &meter{},
		emit: func(r *record.Record) { b.ended[r.ID] = ending(r) },
	}
	b.s.front = newFront(b.s)
	b.s.sources = []*source{newSource(0, stream)}
	b.s.sources[0].live = 1 // so that sending does not end
	return b
}

// send sends a request with a prompt of a thousand tokens, all of it shared.
func (b *bench) send() *request {
	session := &workload.Session{Turns: []workload.Turn{{Group: 1, Prefix: 1000, Input: 1000, Output: 10}}}
	r := b.s.sources[0].newTurn(session, 0, 0, nil)
	b.s.send(r)
	return r
}

// run has so many events happen; below 0, all that are planned.
func (b *bench) run(n int) {
	for ; n != 0; n-- {
		e, ok := b.s.agenda.next()
		if !ok {
			return
		}
		b.s.now = e.at
		e.do.happen(b.s)
	}
}

// crash has a replica die, with what it has.
func (b *bench) crash(p *replica) {
	p.state = down
	b.s.front.gone(p)
	for _, r := range b.s.inFlight(func(r *request) bool { return r.held && r.replica == p }) {
		p.abort(r)
		b.s.front.lost(r)
	}
}

func (b *bench) expect(what string, got, want any) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestRequestsWaitForAReplicaThatStarts(t *testing.T) {
	b := newBench(t, profiles.Cluster{Replicas: 1, Gateway: profiles.Gateway{InFlight: 1}})
	p := b.s.front.replicas[0]
	p.state = starting
	first, second := b.send(), b.send()
	b.run(-1)
	b.expect("waiting while none serves", b.s.front.waiting(), 2)
	p.state = serving
	b.s.front.ready(p)
	b.expect("waiting when one serves", b.s.front.waiting(), 1)
	b.run(-1)
	b.expect("first", b.ended[first.id], "ok")
	b.expect("second", b.ended[second.id], "ok")
}

func TestRequestsDoNotWaitForNobody(t *testing.T) {
	b := newBench(t, profiles.Cluster{Replicas: 1, Gateway: profiles.Gateway{InFlight: 1}})
	p := b.s.front.replicas[0]
	first, second := b.send(), b.send()
	b.crash(p)
	third := b.send()
	b.run(-1)
	b.expect("that was at the replica", b.ended[first.id], "http_502")
	b.expect("that waited", b.ended[second.id], "http_503")
	b.expect("that came later", b.ended[third.id], "http_503")
	b.expect("waiting", b.s.front.waiting(), 0)
}

func TestDrainingReplicasTakeNoMore(t *testing.T) {
	b := newBench(t, profiles.Cluster{Replicas: 2})
	first := b.send()
	first.replica.state = draining
	for range 3 {
		if r := b.send(); r.replica == first.replica {
			t.Error("a request went to a replica that drains")
		}
	}
	b.run(-1)
	b.expect("that it had", b.ended[first.id], "ok")
}

func TestCrashInTheFront(t *testing.T) {
	tests := []struct {
		name    string
		gateway profiles.Gateway
		events  int // before the crash
		want    string
		tries   int
	}{
		{"before the first token, no gateway", profiles.Gateway{}, 1, "connect", 1},
		{"after the first token, no gateway", profiles.Gateway{}, 4, "truncated", 1},
		{"before the first token, no retries", profiles.Gateway{InFlight: 9}, 1, "http_502", 1},
		{"before the first token, with retries", profiles.Gateway{Retry: profiles.Retry{Attempts: 2}}, 1, "ok", 2},
		{"on the way there, with retries", profiles.Gateway{Retry: profiles.Retry{Attempts: 2}}, 0, "ok", 2},
		{"after the first token, with retries", profiles.Gateway{Retry: profiles.Retry{Attempts: 2}}, 4, "truncated", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, profiles.Cluster{Replicas: 2, Gateway: test.gateway})
			r := b.send()
			b.run(test.events)
			b.crash(r.replica)
			b.run(-1)
			b.expect("ended", b.ended[r.id], test.want)
			b.expect("tries", r.attempts, test.tries)
			for _, p := range b.s.front.replicas {
				b.expect("load at the end", p.load, 0)
			}
		})
	}
}

func TestALostCacheIsForgotten(t *testing.T) {
	b := newBench(t, profiles.Cluster{Replicas: 2, Router: profiles.Router{Policy: prefixAffinity, LoadCap: -1}})
	home := b.send().replica
	for range 5 {
		b.expect("the same prompt goes to the same replica", b.send().replica, home)
	}
	b.crash(home)
	home.state = serving
	b.s.front.ready(home)
	other := b.s.front.replicas[1-home.index]
	other.load++ // so that it is not picked for idleness
	b.s.front.affinity.index.Insert(other.index, []route.Block{route.Block(home.kind.identity(b.s.sources[0].newTurn(&workload.Session{Turns: []workload.Turn{{Group: 1, Prefix: 1000, Input: 1000, Output: 1}}}, 0, 0, nil), 0))})
	b.expect("after the crash it goes where some of it is", b.send().replica, other)
}
