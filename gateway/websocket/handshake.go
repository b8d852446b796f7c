package websocket

import (
	"bufio"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	ws "github.com/coder/websocket"

	"github.com/llmctl/llmctl/internal/openai"
)

const (
	// subprotocol is what a client offers that puts its key beside it: a page in a
	// browser can set no other header.
	subprotocol = "llmctl"
	keyPrefix   = "key."
)

// accept upgrades the connection. A problem is for the client, who then still
// waits for an answer over HTTP.
func (c *conn) accept(w http.ResponseWriter, r *http.Request, origins []string) (status int, problem *openai.Error) {
	if origin := r.Header.Get("Origin"); !allowed(origin, r.Host, origins) {
		return http.StatusForbidden, openai.NewError("permission_error", "pages of this origin may not connect", "", "origin_not_allowed")
	}
	h := &handshake{ResponseWriter: w}
	socket, err := ws.Accept(h, r, &ws.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // of the origin, which is checked above
		CompressionMode:    ws.CompressionDisabled,
	})
	if err != nil {
		if h.refused == 0 {
			h.refused = http.StatusInternalServerError
		}
		return h.refused, openai.NewError("invalid_request_error", "the request is no WebSocket handshake of version 13", "", "")
	}
	socket.SetReadLimit(-1) // the handler bounds its bodies itself
	c.mu.Lock()
	c.ws, c.net = socket, h.net
	c.mu.Unlock()
	return 0, nil
}

// handshake is a response writer that keeps the connection it gives away, and
// keeps back what the library says about a handshake that failed.
type handshake struct {
	http.ResponseWriter
	net     net.Conn
	refused int
}

// WriteHeader implements http.ResponseWriter.
func (h *handshake) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
		return
	}
	h.refused = status
}

// Write implements http.ResponseWriter.
func (h *handshake) Write(p []byte) (int, error) { return len(p), nil }

// Hijack implements http.Hijacker.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.net = conn
	return conn, buffer, err
}

// allowed tells whether a page of the origin may connect. Programs send no
// origin, and pages of the server's own host always may.
func allowed(origin, host string, patterns []string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" && strings.EqualFold(u.Host, host) {
		return true
	}
	for _, p := range patterns {
		// An opaque origin, "null", has nothing that a pattern could allow but *.
		if ok, _ := path.Match(strings.ToLower(p), strings.ToLower(origin)); ok || p == "*" {
			return true
		}
	}
	return false
}

// asPost is the request that the connection carries, without what belongs to the
// handshake. A key that was offered beside the sub-protocol becomes a bearer
// token; a second credential stays a second one, for the handler to refuse.
func asPost(r *http.Request) *http.Request {
	post := r.Clone(r.Context())
	post.Method, post.ContentLength = http.MethodPost, -1
	for name := range r.Header {
		if strings.HasPrefix(name, "Sec-Websocket-") || name == "Connection" || name == "Upgrade" {
			delete(post.Header, name)
		}
	}
	for _, key := range offeredKeys(r.Header.Values("Sec-Websocket-Protocol")) {
		post.Header.Add("Authorization", "Bearer "+key)
	}
	post.Header.Set("Content-Type", "application/json")
	return post
}

func offeredKeys(offers []string) (keys []string) {
	ours := false
	for offer := range strings.SplitSeq(strings.Join(offers, ","), ",") {
		offer = strings.TrimSpace(offer)
		if key, ok := strings.CutPrefix(offer, keyPrefix); ok {
			keys = append(keys, key)
		}
		ours = ours || offer == subprotocol
	}
	if !ours {
		return nil
	}
	return keys
}
