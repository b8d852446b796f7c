package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// runningGateway is a gateway in a process of its own.
type runningGateway struct {
	t          *testing.T
	cmd        *exec.Cmd
	path       string // of its configuration
	url, admin string
	client     *http.Client
	lines      chan map[string]any // of its log
	done       chan struct{}
	mu         sync.Mutex
	said       strings.Builder
}

const (
	gatewayPatience = 30 * time.Second // no test waits this long unless it fails
	gatewayToken    = "admin-token"
)

// gatewayFile is a configuration in front of an endpoint, on free ports, with one
// alias.
func gatewayFile(endpoint, alias, more string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
admin: { listen: 127.0.0.1:0, token_env: GATEWAY_ADMIN_TOKEN }
store: { usage: none }
tenants: [{ name: search, keys: [{ key_env: GATEWAY_KEY }] }]
providers: [{ name: p, endpoints: [%q] }]
models: [{ alias: %s, targets: [{ provider: p, model: m }] }]
%s`, endpoint, alias, more)
}

// startGateway runs a gateway until it listens.
func startGateway(t *testing.T, configuration string, args ...string) *runningGateway {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a process can not be sent signals there")
	}
	g := &runningGateway{t: t, client: http.DefaultClient, path: filepath.Join(t.TempDir(), "gateway.yaml"), lines: make(chan map[string]any, 1000), done: make(chan struct{})}
	g.configure(configuration)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g.cmd = exec.Command(self, append([]string{"gateway", "--config", g.path, "--drain-delay", "0s"}, args...)...)
	g.cmd.Env = append(ownEnvironment(t), "GATEWAY_ADMIN_TOKEN="+gatewayToken, "GATEWAY_KEY=sk-gateway")
	pipe, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(g.done)
		defer close(g.lines)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			g.mu.Lock()
			g.said.WriteString(lines.Text() + "\n")
			g.mu.Unlock()
			line := map[string]any{}
			if json.Unmarshal(lines.Bytes(), &line) == nil {
				g.lines <- line
			}
		}
		_ = g.cmd.Wait() // the code is looked at in end
	}()
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill() // of one that a failed test left
		<-g.done
	})
	g.url = strings.TrimSuffix(g.await("listening")["url"].(string), "/v1")
	g.admin = strings.TrimSuffix(g.await("listening")["url"].(string), "/metrics")
	return g
}

// configure writes the file in one piece.
func (g *runningGateway) configure(text string) {
	g.t.Helper()
	if err := os.WriteFile(g.path+".new", []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Rename(g.path+".new", g.path); err != nil {
		g.t.Fatal(err)
	}
}

// await returns the next line of the log that begins with a message.
func (g *runningGateway) await(message string) map[string]any {
	g.t.Helper()
	timeout := time.After(gatewayPatience)
	for {
		select {
		case line, more := <-g.lines:
			if !more {
				g.t.Fatalf("the gateway ended and did not say %q:\n%s", message, g.log())
			}
			if text, _ := line["msg"].(string); strings.HasPrefix(text, message) {
				return line
			}
		case <-timeout:
			g.t.Fatalf("the gateway never said %q:\n%s", message, g.log())
		}
	}
}

func (g *runningGateway) log() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.said.String()
}

func (g *runningGateway) signal(s os.Signal) {
	g.t.Helper()
	if err := g.cmd.Process.Signal(s); err != nil {
		g.t.Fatal(err)
	}
}

// end waits for the process, which ends well.
func (g *runningGateway) end() {
	g.t.Helper()
	select {
	case <-g.done:
	case <-time.After(gatewayPatience):
		g.t.Fatalf("the gateway does not end:\n%s", g.log())
	}
	if code := g.cmd.ProcessState.ExitCode(); code != exitOK {
		g.t.Errorf("exit code %d:\n%s", code, g.log())
	}
}

// open starts a request; stream asks for a stream.
func (g *runningGateway) open(alias string) (*http.Response, error) {
	g.t.Helper()
	body := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, alias)
	ctx, cancel := context.WithTimeout(g.t.Context(), gatewayPatience)
	g.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-gateway")
	return g.client.Do(r)
}

// status of a request for an alias.
func (g *runningGateway) status(alias string) int {
	g.t.Helper()
	response, err := g.open(alias)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func (g *runningGateway) get(url string) (int, string) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+gatewayToken)
	response, err := g.client.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

const (
	gatewayHello = `data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}` + "\n\n"
	gatewayRest  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// pausing is an upstream whose streams wait in the middle until they are released.
func pausing(t *testing.T) (endpoint string, release context.CancelFunc) {
	t.Helper()
	released, release := context.WithCancel(t.Context())
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, gatewayHello)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-released.Done():
			_, _ = io.WriteString(w, gatewayRest)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(up.Close)
	return up.URL, release
}

// begin starts a stream and reads its first event.
func (g *runningGateway) begin(alias string) io.ReadCloser {
	g.t.Helper()
	response, err := g.open(alias)
	if err != nil {
		g.t.Fatal(err)
	}
	first := make([]byte, len(gatewayHello))
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != gatewayHello {
		g.t.Fatalf("%v, %q", err, first)
	}
	return response.Body
}

func rest(t *testing.T, stream io.ReadCloser) string {
	t.Helper()
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Error(err)
	}
	_ = stream.Close()
	return string(text)
}

func TestGatewayTakesNewRequestsUntilTheDrainDelayIsOver(t *testing.T) {
	endpoint, release := pausing(t)
	g := startGateway(t, gatewayFile(endpoint, "small", ""), "--drain-delay", "10m")
	stream := g.begin("small")
	g.signal(syscall.SIGTERM)
	g.await("leaving")
	for _, url := range []string{g.url, g.admin} {
		if status, _ := g.get(url + "/readyz"); status != 503 {
			t.Errorf("%s/readyz answers %d", url, status)
		}
	}
	late := g.begin("small")
	release()
	for _, s := range []io.ReadCloser{stream, late} {
		if got := rest(t, s); got != gatewayRest {
			t.Errorf("a stream ended with %q", got)
		}
	}
	g.signal(syscall.SIGTERM) // cuts the rest of the delay short
	g.end()
}

// Who presses Ctrl-C waits for no load balancer.
func TestCtrlCWaitsForNoLoadBalancer(t *testing.T) {
	endpoint, release := pausing(t)
	release()
	g := startGateway(t, gatewayFile(endpoint, "small", ""), "--drain-delay", "10m")
	g.signal(syscall.SIGINT)
	if line := g.await("leaving"); line["drain_delay"] != "0s" {
		t.Errorf("it waits: %v", line)
	}
	g.end()
}

// Kubernetes removes an endpoint while it ends the container, and kills what has not
// ended after 30 seconds: the defaults leave time for the one, and fit in the other.
func TestEndingFitsKubernetesWithoutFlags(t *testing.T) {
	cmd := newGateway(&iostreams.IO{})
	delay, err1 := cmd.Flags().GetDuration("drain-delay")
	grace, err2 := cmd.Flags().GetDuration("grace")
	if err1 != nil || err2 != nil || delay < 5*time.Second || delay+grace+lastWords > 30*time.Second {
		t.Errorf("drain delay %v (%v), grace %v (%v)", delay, err1, grace, err2)
	}
}

func TestGatewayLetsStreamsEndOnSIGTERM(t *testing.T) {
	endpoint, release := pausing(t)
	g := startGateway(t, gatewayFile(endpoint, "small", ""), "--grace", "10m")
	stream := g.begin("small")
	g.signal(syscall.SIGTERM)
	g.await("draining")
	response, err := g.open("small")
	if err == nil {
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a new request got status %d", response.StatusCode)
		}
	}
	if status, body := g.get(g.admin + "/metrics"); status != 200 || !strings.Contains(body, `llmctl_gateway_in_flight{alias="small"} 1`) {
		t.Errorf("metrics while draining: status %d", status)
	}
	release()
	if got := rest(t, stream); got != gatewayRest {
		t.Errorf("the stream ended with %q", got)
	}
	g.end()
}

func TestGatewayCutsOffWhatOutlastsItsGrace(t *testing.T) {
	endpoint, _ := pausing(t)
	g := startGateway(t, gatewayFile(endpoint, "small", ""), "--grace", "1ms")
	stream := g.begin("small")
	g.signal(syscall.SIGTERM)
	if got := rest(t, stream); !strings.Contains(got, "the gateway is shutting down") {
		t.Errorf("the stream ended with %q", got)
	}
	g.await("out of patience")
	g.end()
}

func TestSecondSignalCutsTheGatewayOff(t *testing.T) {
	endpoint, _ := pausing(t)
	g := startGateway(t, gatewayFile(endpoint, "small", ""), "--grace", "10m")
	stream := g.begin("small")
	g.signal(syscall.SIGTERM)
	g.await("draining")
	g.signal(os.Interrupt)
	if got := rest(t, stream); !strings.Contains(got, "the gateway is shutting down") {
		t.Errorf("the stream ended with %q", got)
	}
	g.end()
}

func TestGatewayReloadsItsFile(t *testing.T) {
	endpoint, release := pausing(t)
	g := startGateway(t, gatewayFile(endpoint, "small", ""), "--watch", "10ms")
	stream := g.begin("small")

	g.configure(gatewayFile(endpoint, "large", ""))
	g.await("configuration loaded")
	if got := g.status("small"); got != http.StatusNotFound {
		t.Errorf("an alias that is gone: status %d", got)
	}
	g.configure("tenents: []\n")
	refused := g.await("configuration refused")
	if text, _ := refused["error"].(string); !strings.Contains(text, `did you mean "tenants"`) {
		t.Errorf("%v", refused)
	}
	second := g.begin("large")

	g.configure(gatewayFile(endpoint, "large", "traces: { sample: 0.5 }"))
	if keys := g.await("these keys have changed")["keys"]; fmt.Sprint(keys) != "[traces]" {
		t.Errorf("keys %v", keys)
	}
	release()
	for _, s := range []io.ReadCloser{stream, second} {
		if got := rest(t, s); got != gatewayRest {
			t.Errorf("a stream ended with %q", got)
		}
	}
	g.signal(syscall.SIGTERM)
	g.end()
}

func TestHangupReloadsTheGateway(t *testing.T) {
	endpoint, release := pausing(t)
	release()
	g := startGateway(t, gatewayFile(endpoint, "small", ""), "--watch", "0")
	g.configure(gatewayFile(endpoint, "large", ""))
	g.signal(syscall.SIGHUP)
	g.await("configuration loaded")
	if small, large := g.status("small"), g.status("large"); small != 404 || large != 200 {
		t.Errorf("status %d of the old alias, %d of the new one", small, large)
	}
	if status, body := g.get(g.admin + "/metrics"); status != 200 || !strings.Contains(body, `llmctl_gateway_config_reload_total{result="ok"} 1`) {
		t.Errorf("metrics: status %d", status)
	}
	g.signal(os.Interrupt)
	g.end()
}

// certificate writes one for 127.0.0.1 and its key, and returns who trusts it.
func certificate(t *testing.T) (cert, key string, client *http.Client) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pair := server.TLS.Certificates[0]
	encoded, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	return cert, key, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}}
}

func TestGatewaySpeaksTLSOnBothAddresses(t *testing.T) {
	cert, key, client := certificate(t)
	endpoint, release := pausing(t)
	text := gatewayFile(endpoint, "small", fmt.Sprintf("tls: { cert: %q, key: %q }\n", cert, key))
	text = strings.Replace(text, "admin: {", fmt.Sprintf("admin: { tls: { cert: %q, key: %q },", cert, key), 1)
	g := startGateway(t, text)
	g.client = client
	defer client.CloseIdleConnections()
	if status, body := g.get(g.admin + "/metrics"); !strings.HasPrefix(g.admin, "https://") || status != 200 || !strings.Contains(body, "llmctl_gateway_") {
		t.Errorf("%s/metrics answers %d", g.admin, status)
	}
	if response, err := http.Get(strings.Replace(g.url, "https:", "http:", 1) + "/livez"); err == nil {
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: status %d", response.StatusCode)
		}
	}
	response, err := g.open("small")
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len(gatewayHello)) // before the rest is there
	if _, err := io.ReadFull(response.Body, first); err != nil || response.ProtoMajor != 2 {
		t.Errorf("%v over %s", err, response.Proto)
	}
	g.signal(syscall.SIGTERM)
	g.await("draining")
	release()
	if got := rest(t, response.Body); got != gatewayRest {
		t.Errorf("the stream ended with %q", got)
	}
	g.end()
}

// A client with one connection may have as many streams as it likes: none waits
// for another to end.
func TestThreeHundredStreamsOnOneConnectionAllProgress(t *testing.T) {
	cert, key, client := certificate(t)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	endpoint, release := pausing(t)
	g := startGateway(t, gatewayFile(endpoint, "small", fmt.Sprintf("tls: { cert: %q, key: %q }\n", cert, key)))
	g.client = client
	defer client.CloseIdleConnections()
	var streams []io.ReadCloser
	for range 300 {
		streams = append(streams, g.begin("small"))
	}
	release()
	for _, stream := range streams {
		if got := rest(t, stream); got != gatewayRest {
			t.Fatalf("a stream ended with %q", got)
		}
	}
	g.signal(syscall.SIGTERM)
	g.end()
}

func TestGatewaySendsItsTracesBeforeItEnds(t *testing.T) {
	posts := make(chan string, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		posts <- r.URL.Path
	}))
	defer collector.Close()
	endpoint, release := pausing(t)
	release()
	g := startGateway(t, gatewayFile(endpoint, "small", fmt.Sprintf("traces: { endpoint: %q }\n", collector.URL)))
	if got := g.status("small"); got != 200 {
		t.Errorf("status %d", got)
	}
	g.signal(syscall.SIGTERM)
	g.end()
	select {
	case path := <-posts:
		if path != "/v1/traces" {
			t.Errorf("a POST to %s", path)
		}
	default:
		t.Error("no traces were sent")
	}
}
