package simulator

import (
	"fmt"

	"github.com/llmctl/llmctl/gateway/queue"
	"github.com/llmctl/llmctl/reports/record"
)

// waiting is how many requests wait in the gateway for a replica.
func (f *front) waiting() int {
	if f.gateway == nil {
		return 0
	}
	return f.gateway.queue.Len()
}

// hasRoom tells whether a replica has less in flight than the gateway allows it.
func (g *gateway) hasRoom(p *replica) bool { return g.InFlight <= 0 || p.load < g.InFlight }

// dispatch sends a request to a replica, or has it wait for one.
func (g *gateway) dispatch(r *request) {
	if g.queue.Len() == 0 {
		if p := g.f.choose(r, entry); p != nil {
			g.place(r, p)
			return
		}
	}
	if !g.hope() {
		r.passage.tries++
		g.f.s.agenda.plan(g.f.s.now+refusalTime, unserved{r})
		return
	}
	ticket, shed := g.queue.Push(r, queue.Item{
		Tenant: r.session.Tenant, Priority: g.priority(r.session.Class), Cost: int64(r.prompt + r.output),
	})
	r.passage.ticket = ticket
	g.f.s.noteQueue()
	if shed != nil {
		g.shed(shed.Value)
	}
}

// priority of a class is what the engines of the first pool go by.
func (g *gateway) priority(class string) int {
	return g.f.s.config.Pools[0].Kind.Serving.Priorities[class]
}

// hope is whether a request that waits can come to a replica some time: one is
// there, or starts.
func (g *gateway) hope() bool {
	for _, p := range g.f.replicas {
		if p.kind.takes(entry) && (p.state == serving || p.state == starting) {
			return true
		}
	}
	return false
}

// unserved is a request for which there is no replica.
type unserved struct{ r *request }

func (u unserved) happen(s *sim) {
	if !u.r.ended {
		u.r.why = noneServes
		s.front.gateway.failed(u.r, record.HTTPFailure(503))
	}
}

// shed ends a request for which the queue has no room, unless the fallback takes
// such ones.
func (g *gateway) shed(r *request) {
	r.passage.ticket = nil
	g.count(&g.counts.Shed)
	if g.Fallback.WhenSaturated && g.provider.take(r) {
		return
	}
	r.why = fmt.Sprintf("the gateway's queue of %d requests is full", g.MaxQueue)
	g.f.refuse(r, record.HTTPFailure(503))
}

// pump sends requests that wait to replicas that have room.
func (g *gateway) pump() {
	for g.queue.Len() > 0 && g.anyRoom() {
		r, _ := g.queue.Pop()
		r.passage.ticket = nil
		g.place(r, g.f.choose(r, entry))
	}
	g.f.s.noteQueue()
}

func (g *gateway) anyRoom() bool {
	for _, p := range g.f.replicas {
		if g.f.open(p, entry) {
			return true
		}
	}
	return false
}

// flush lets go of all that wait when there is no replica any more.
func (g *gateway) flush() {
	if g.hope() {
		return
	}
	for r, ok := g.queue.Pop(); ok; r, ok = g.queue.Pop() {
		r.passage.ticket = nil
		g.dispatch(r)
	}
	g.f.s.noteQueue()
}
