//go:build integration

package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/picker"
)

// dataPlane is an Envoy in a process of its own that asks our picker, both with
// the configurations of deploy/envoy.
type dataPlane struct {
	t        *testing.T
	envoy    string // its program
	gateway  *Gateway
	picker   *picker.Server
	served   chan error
	at       string // of the picker
	url      string // of Envoy
	client   *http.Client
	replicas []*replica
}

// replica is a model server.
type replica struct {
	*httptest.Server
	name string
	mu   sync.Mutex
	seen []seenRequest
}

// seenRequest is what came to a replica.
type seenRequest struct {
	header http.Header
	length int64
	body   string
}

// newReplica starts a model server that answers by handler, and says who it is.
func newReplica(t *testing.T, handler http.HandlerFunc) *replica {
	t.Helper()
	r := &replica{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the client left
		}
		r.mu.Lock()
		r.seen = append(r.seen, seenRequest{q.Header.Clone(), q.ContentLength, string(body)})
		r.mu.Unlock()
		w.Header().Set("X-Replica", r.name)
		handler(w, q)
	}))
	r.name = r.Listener.Addr().String()
	t.Cleanup(r.Close)
	return r
}

// replaced is text with each of the pairs replaced, which it has once.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(text, pairs[i]); n != 1 {
			t.Fatalf("%q is there %d times, want once", pairs[i], n)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// fronted starts n replicas, a picker and an Envoy in front of them. edit may change
// what the picker goes by, and configure what Envoy does.
func fronted(t *testing.T, n int, handler http.HandlerFunc, file string, edit func(*config.Provider), change ...string) *dataPlane {
	t.Helper()
	envoy, err := exec.LookPath("envoy")
	if err != nil {
		t.Fatal("no envoy in PATH; make integration installs it")
	}
	p := &dataPlane{t: t, envoy: envoy, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	t.Cleanup(p.client.CloseIdleConnections)
	c, err := config.Parse([]byte(readFile(t, "../deploy/envoy/gateway.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	c.Providers[0].Endpoints = nil
	for range n {
		r := newReplica(t, handler)
		p.replicas = append(p.replicas, r)
		c.Providers[0].Endpoints = append(c.Providers[0].Endpoints, r.URL)
	}
	if edit != nil {
		edit(&c.Providers[0])
	}
	if p.gateway, err = New(c, Options{Logger: slog.New(slog.DiscardHandler), LookupEnv: func(name string) (string, bool) { return "sk-" + name, true }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.gateway.Close)
	p.at = p.servePicker("127.0.0.1:0")
	t.Cleanup(p.stopPicker)
	_, port, err := net.SplitHostPort(p.at)
	if err != nil {
		t.Fatal(err)
	}
	text := readFile(t, "../deploy/envoy/"+file)
	for i, r := range p.replicas { // where Envoy has a list of its own
		_, port, _ := net.SplitHostPort(r.name)
		text = strings.Replace(text, fmt.Sprintf("10.0.0.%d, port_value: 8000", 5+i), "127.0.0.1, port_value: "+port, 1)
	}
	text = replaced(t, text, append([]string{
		"port_value: 9901", "port_value: 0", "0.0.0.0, port_value: 8000", "127.0.0.1, port_value: 0", "port_value: 9002", "port_value: " + port,
	}, change...)...)
	p.startEnvoy(text)
	return p
}

// servePicker answers Envoy on an address, and returns it.
func (p *dataPlane) servePicker(address string) string {
	p.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.picker, p.served = p.gateway.Picker(), make(chan error, 1)
	go func(server *picker.Server, served chan error) { served <- server.Serve(listener) }(p.picker, p.served)
	return listener.Addr().String()
}

func (p *dataPlane) stopPicker() {
	if p.picker == nil {
		return
	}
	p.picker.Close()
	if err := wait(p.t, p.served, "the picker"); err != nil {
		p.t.Errorf("serving: %v", err)
	}
	p.picker = nil
}

// startEnvoy runs an Envoy until it is ready.
func (p *dataPlane) startEnvoy(configuration string) {
	p.t.Helper()
	dir := p.t.TempDir()
	file, admin := filepath.Join(dir, "envoy.yaml"), filepath.Join(dir, "admin")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		p.t.Fatal(err)
	}
	var said logBuffer
	c := exec.Command(p.envoy, "-c", file, "--admin-address-path", admin, "--disable-hot-restart", "--concurrency", "1", "-l", "warning")
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	p.t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended //nolint:errcheck // it was killed
		if p.t.Failed() {
			p.t.Logf("Envoy said:\n%s", said.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if at, err := os.ReadFile(admin); err == nil && p.findListener(string(at)) {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			p.t.Fatalf("Envoy ended: %v\n%s", err, said.String())
		default:
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("Envoy is not ready:\n%s", said.String())
		}
	}
}

// findListener asks Envoy where it listens, and whether it does.
func (p *dataPlane) findListener(admin string) bool {
	p.t.Helper()
	for path, into := range map[string]func([]byte) bool{
		"/ready": func(body []byte) bool { return strings.HasPrefix(string(body), "LIVE") },
		"/listeners?format=json": func(body []byte) bool {
			var all struct {
				Statuses []struct {
					Local struct {
						Socket struct {
							Address string `json:"address"`
							Port    int    `json:"port_value"`
						} `json:"socket_address"`
					} `json:"local_address"`
				} `json:"listener_statuses"`
			}
			if json.Unmarshal(body, &all) != nil || len(all.Statuses) != 1 {
				return false
			}
			p.url = fmt.Sprintf("http://%s:%d", all.Statuses[0].Local.Socket.Address, all.Statuses[0].Local.Socket.Port)
			return true
		},
	} {
		response, err := p.client.Get("http://" + admin + path)
		if err != nil {
			return false
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !into(body) {
			return false
		}
	}
	return true
}
