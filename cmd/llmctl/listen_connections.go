package main

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections keeps those of a listener few enough for the process to have descriptors
// left: beyond most, each new one takes the place of the one that has waited longest
// for a request to come or to be complete. Those with a request stay.
type connections struct {
	most int

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // its place in waiting; nil for those with a request
	waiting list.List                  // of net.Conn, the longest first
}

// mostConnections leaves as many descriptors as connections have for their upstreams,
// and a third for all else; 0 where the system has no such bound.
func mostConnections() int { return descriptors() / 3 }

// note is the server's hook for changes of state.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	if victim := c.turn(conn, state); victim != nil {
		if secured, ok := victim.(*tls.Conn); ok {
			victim = secured.NetConn() // saying goodbye may take seconds, in which nobody is let in
		}
		_ = victim.Close()
	}
}

// turn takes a change in, and returns who has to go.
func (c *connections) turn(conn net.Conn, state http.ConnState) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.open[conn]; place != nil {
		c.waiting.Remove(place)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	default:
		delete(c.open, conn)
	}
	if state != http.StateNew || len(c.open) <= c.most || c.waiting.Len() == 1 {
		return nil
	}
	longest := c.waiting.Remove(c.waiting.Front()).(net.Conn)
	delete(c.open, longest)
	return longest
}
