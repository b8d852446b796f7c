package conform_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// dropping closes connections without an answer while its rule says so.
func dropping(t *testing.T, rule func(body []byte, reused bool) bool) http.Handler {
	m := faultless()
	var mu sync.Mutex
	seen := map[string]bool{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		reused := seen[r.RemoteAddr]
		seen[r.RemoteAddr] = true
		drop := rule(body, reused)
		mu.Unlock()
		if !drop {
			m.ServeHTTP(w, r)
			return
		}
		var conn net.Conn
		if conn, _, err = w.(http.Hijacker).Hijack(); err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	})
}

// A server that closes every connection that is used again, at the moment at which a
// request comes over it, is right to (RFC 9112, 9.3.1): the request is sent again.
func TestAServerMayCloseIdleConnectionsAtAnyTime(t *testing.T) {
	h := dropping(t, func(_ []byte, reused bool) bool { return reused })
	r := check(t, h, conform.Options{Pick: []string{"whole", "connection/after-idle", "cancel/whole"}})
	if got := failures(r); len(got) > 0 {
		t.Errorf("failed: %s", strings.Join(got, ", "))
	}
}

// A request without an answer fails the case in which it was sent, and not all that
// come after it.
func TestOneLostRequestFailsOneCase(t *testing.T) {
	lost := 0
	h := dropping(t, func(body []byte, reused bool) bool {
		if gjson.GetBytes(body, "ignore_eos").Bool() && gjson.GetBytes(body, "max_tokens").Int() == 1 && lost == 0 {
			if !reused {
				lost++
			}
			return true
		}
		return false
	})
	r := check(t, h, conform.Options{Pick: []string{"cancel/before-output", "cancel/mid-stream", "cancel/whole"}})
	if got := failures(r); len(got) != 1 || lost != 1 {
		t.Errorf("failed: %s; %d requests were lost, expected 1 of each", strings.Join(got, ", "), lost)
	}
}
