package client

import (
	"fmt"
	"net/url"

	"github.com/llmctl/llmctl/internal/limits"
)

// spareFiles is how many files a client needs beside its connections.
const spareFiles = 64

// Problem is a limit of this machine that a load would run into.
type Problem struct {
	Text string // which limit, and by how much it is too low
	Hint string // how to raise it
}

// Preflight looks, before anything is sent, whether this machine allows as many
// connections as a load may need: n of them, spread over the endpoints. What the
// system does not tell is no problem. HTTP/2 shares connections and is not
// limited so.
func (o Options) Preflight(n int) []Problem {
	if o.HTTP == HTTP2 {
		return nil
	}
	var found []Problem
	if files, err := limits.Files(); err == nil && uint64(n)+spareFiles > files {
		found = append(found, Problem{
			Text: fmt.Sprintf("%d connections need %d open files, and this process may have %d", n, n+spareFiles, files),
			Hint: fmt.Sprintf("raise the limit with: ulimit -n %d", n+spareFiles),
		})
	}
	low, high, err := limits.Ports()
	if err != nil {
		return found
	}
	each := (n + len(o.Others)) / (1 + len(o.Others))
	ports := high - low + 1
	for address, endpoints := range o.addresses() {
		if need := each * endpoints; need > ports {
			found = append(found, Problem{
				Text: fmt.Sprintf("%d connections to %s need as many local ports, and this machine gives %d (%d to %d)", need, address, ports, low, high),
				Hint: fmt.Sprintf("widen the range with: sysctl net.ipv4.ip_local_port_range='1024 65535', or spread the load over more endpoints than %d", 1+len(o.Others)),
			})
		}
	}
	return found
}

// addresses are how many of the endpoints are at each host and port.
func (o Options) addresses() map[string]int {
	n := map[string]int{}
	for _, base := range o.Endpoints() {
		if e, err := parseEndpoint(base); err == nil {
			n[hostPort(e.root)]++
		}
	}
	return n
}

// hostPort is the host and port to connect to.
func hostPort(u *url.URL) string {
	if u.Scheme == "https" && u.Port() == "" {
		return u.Hostname() + ":443"
	}
	return address(u)
}
