//go:build integration

package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// ask makes a request to Envoy.
func (p *dataPlane) ask(ctx context.Context, body string, header ...string) *http.Request {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (p *dataPlane) post(body string, header ...string) answer {
	p.t.Helper()
	response, err := p.client.Do(p.ask(p.t.Context(), body, header...))
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatalf("reading the answer: %v", err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// inFlight is how many requests the picker counts.
func (p *dataPlane) inFlight() (n int64) {
	for _, e := range p.gateway.table.Load().picker.pool.Status().Endpoints {
		n += e.InFlight
	}
	return n
}

// idle waits until the picker counts no request.
func (p *dataPlane) idle() {
	p.t.Helper()
	until(p.t, "every place to be free", func() bool { return p.inFlight() == 0 })
}

// chatOf is a request with words enough to fill blocks of a prompt.
func chatOf(words string) string {
	return fmt.Sprintf(`{"model":"meta-llama/Llama-3.1-8B-Instruct","x_future":{"a" : 1},"messages":[{"role":"user","content":%q}]}`, strings.Repeat(words+" ", 100))
}

func (r *replica) requests() []seenRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// Equal prompts go to one replica and others elsewhere, byte for byte.
func TestEnvoySendsAPromptWhereItWasBefore(t *testing.T) {
	p := fronted(t, 2, replies(200, plainReply), "envoy.yaml", nil)
	at := map[string]int{}
	for i := range 8 {
		var first string
		for range 3 {
			got := p.post(chatOf(fmt.Sprint("prompt ", i)), "X-Gateway-Destination-Endpoint", "127.0.0.1:1")
			if got.status != 200 || got.body != plainReply {
				t.Fatalf("status %d, %s", got.status, got.body)
			}
			here := got.header.Get("X-Replica")
			if first != "" && here != first {
				t.Errorf("prompt %d went to %s and %s", i, first, here)
			}
			first = here
		}
		at[first]++
	}
	if len(at) != 2 {
		t.Errorf("all prompts went to one replica: %v", at)
	}
	for _, r := range p.replicas {
		for _, q := range r.requests() {
			if got := q.header.Get("X-Gateway-Destination-Endpoint"); got != r.name {
				t.Errorf("%s got a request for %s", r.name, got)
			}
			if !strings.Contains(q.body, `"x_future":{"a" : 1}`) {
				t.Errorf("the body came as %.100s", q.body)
			}
		}
	}
	p.idle()
}

// Envoy says that it could not connect, and one request is enough to leave a replica
// alone.
func TestEnvoySendsNothingToAReplicaThatIsDown(t *testing.T) {
	p := fronted(t, 2, replies(200, plainReply), "envoy.yaml", func(c *config.Provider) { c.Breaker.Open = config.Duration(time.Hour) })
	prompts := map[string]string{} // by the replica that has it
	for i := 0; len(prompts) < 2; i++ {
		body := chatOf(fmt.Sprint("prompt ", i))
		prompts[p.post(body).header.Get("X-Replica")] = body
	}
	down, up := p.replicas[0], p.replicas[1]
	down.CloseClientConnections()
	down.Close()
	failed := 0
	for range 20 {
		switch got := p.post(prompts[down.name]); {
		case got.status == 503:
			failed++
		case got.status != 200 || got.header.Get("X-Replica") != up.name:
			t.Errorf("status %d from %q", got.status, got.header.Get("X-Replica"))
		}
	}
	if failed != 1 {
		t.Errorf("%d requests failed until the replica was left alone, want 1", failed)
	}
	up.CloseClientConnections()
	up.Close()
	if got := p.post(prompts[up.name]); got.status != 503 {
		t.Errorf("status %d from a replica that is gone", got.status)
	}
	p.idle()
}

// Every event passes before the next is made, and the place is held until the end.
func TestEnvoyPassesEventsAsTheyCome(t *testing.T) {
	for name, change := range map[string][]string{
		"the picker sees the header": nil,
		"and all of the answer":      {"response_body_mode: NONE", "response_body_mode: FULL_DUPLEX_STREAMED"},
	} {
		t.Run(name, func(t *testing.T) {
			next := make(chan struct{})
			p := fronted(t, 1, func(w http.ResponseWriter, r *http.Request) {
				for range 5 {
					sse(w, helloEvent)
					select {
					case <-next:
					case <-r.Context().Done():
						return
					}
				}
				sse(w, doneEvent)
			}, "envoy.yaml", nil, change...)
			response, err := p.client.Do(p.ask(t.Context(), chatOf("hello")))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() //nolint:errcheck // read to its end
			for i := range 5 {
				event := make([]byte, len(helloEvent))
				if _, err := io.ReadFull(response.Body, event); err != nil || string(event) != helloEvent {
					t.Fatalf("event %d: %q, %v", i, event, err)
				}
				if got := p.inFlight(); got != 1 {
					t.Errorf("%d in flight at event %d", got, i)
				}
				next <- struct{}{}
			}
			if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != doneEvent {
				t.Errorf("the stream ended with %q, %v", rest, err)
			}
			p.idle()
		})
	}
}

// A client that leaves frees its place, and the replica is told.
func TestEnvoyTellsOfClientsThatLeave(t *testing.T) {
	left := make(chan struct{}, 1)
	p := fronted(t, 1, func(w http.ResponseWriter, r *http.Request) {
		sse(w, helloEvent)
		<-r.Context().Done()
		left <- struct{}{}
	}, "envoy.yaml", nil)
	ctx, leave := context.WithCancel(t.Context())
	response, err := p.client.Do(p.ask(ctx, chatOf("hello")))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	_ = response.Body.Close()
	wait(t, left, "the replica to hear of it")
	p.idle()
}

// Bodies pass as they are, whatever their size and in each mode in which Envoy may
// send them.
func TestEnvoyPassesLargeBodies(t *testing.T) {
	const duplex = "request_body_mode: FULL_DUPLEX_STREAMED"
	for name, change := range map[string][]string{
		"streamed":           nil,
		"streamed both ways": {"response_body_mode: NONE", "response_body_mode: FULL_DUPLEX_STREAMED"},
		"buffered":           {duplex, "request_body_mode: BUFFERED", "- name: api\n", "- name: api\n    per_connection_buffer_limit_bytes: 33554432\n"},
		"buffered in part":   {duplex, "request_body_mode: BUFFERED_PARTIAL", "- name: api\n", "- name: api\n    per_connection_buffer_limit_bytes: 33554432\n"},
		"not sent":           {duplex, "request_body_mode: NONE"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fronted(t, 1, func(w http.ResponseWriter, r *http.Request) { replies(200, strings.Repeat("x", 3<<20))(w, r) }, "envoy.yaml", nil, change...)
			for _, size := range []int{1, 64 << 10, 64<<10 + 1, 1 << 20, 1<<20 + 1, 12 << 20} {
				body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("a", size) + `"}]}`
				got := p.post(body)
				if got.status != 200 || len(got.body) != 3<<20 {
					t.Errorf("%d bytes: status %d with %d bytes: %.200s", size, got.status, len(got.body), got.body)
					continue
				}
				seen := p.replicas[0].requests()
				if last := seen[len(seen)-1]; last.body != body {
					t.Errorf("%d bytes came as %d", len(body), len(last.body))
				}
			}
			p.idle()
		})
	}
}

// A route names another model, and only endpoints that Envoy allows.
func TestEnvoyRoutesNameModelsAndEndpoints(t *testing.T) {
	const filter = "          - name: envoy.filters.http.ext_proc\n"
	for name, change := range map[string][]string{
		"streamed": nil, "buffered": {"request_body_mode: FULL_DUPLEX_STREAMED", "request_body_mode: BUFFERED"},
	} {
		t.Run(name, func(t *testing.T) {
			change := append([]string{
				"- remove: x-gateway-destination-endpoint-subset", "- append: { header: { key: x-gateway-model-name-rewrite, value: other }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }",
				filter, `          - name: envoy.filters.http.header_to_metadata
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.header_to_metadata.v3.Config
              request_rules:
              - header: x-pool
                on_header_present: { metadata_namespace: envoy.lb.subset_hint, key: x-gateway-destination-endpoint-subset }
` + filter, "grpc_service:", "metadata_options: { forwarding_namespaces: { untyped: [envoy.lb.subset_hint] } }\n              grpc_service:",
			}, change...)
			p := fronted(t, 3, replies(200, plainReply), "envoy.yaml", nil, change...)
			allowed := p.replicas[1]
			for i := range 5 {
				if got := p.post(chatOf(fmt.Sprint("prompt ", i)), "X-Pool", "10.9.9.9:1,"+allowed.name); got.status != 200 || got.header.Get("X-Replica") != allowed.name {
					t.Errorf("status %d from %s: %s", got.status, got.header.Get("X-Replica"), got.body)
				}
			}
			for _, q := range allowed.requests() {
				if want := strings.Replace(chatOf(""), "meta-llama/Llama-3.1-8B-Instruct", "other", 1)[:40]; !strings.HasPrefix(q.body, want) {
					t.Errorf("the replica got %.100s", q.body)
				}
				if q.length >= 0 && q.length != int64(len(q.body)) {
					t.Errorf("a body of %d bytes with length %d", len(q.body), q.length)
				}
			}
			if got := p.post(chatOf("hello"), "X-Pool", "10.9.9.9:1"); got.status != 503 || gjson.Get(got.body, "error.code").Str != "no_healthy_upstream" {
				t.Errorf("status %d, %s", got.status, got.body)
			}
			p.idle()
		})
	}
}

// What the picker refuses the client hears in the API's shape.
func TestEnvoyTellsWhyThePickerRefused(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	p := fronted(t, 1, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		replies(200, plainReply)(w, r)
	}, "envoy.yaml", func(c *config.Provider) { c.InFlight, c.QueueTimeout = 1, config.Duration(time.Millisecond) })
	done := make(chan answer, 1)
	go func() { done <- p.post(chatOf("first")) }()
	wait(t, arrived, "the first request")
	got := p.post(chatOf("second"))
	if got.status != 429 || got.header.Get("Retry-After") != "1" || got.header.Get("Content-Type") != "application/json" || gjson.Get(got.body, "error.code").Str != "overloaded" {
		t.Errorf("status %d, %v, %s", got.status, got.header, got.body)
	}
	close(release)
	if got := wait(t, done, "the first answer"); got.status != 200 {
		t.Errorf("status %d", got.status)
	}
	large := bytes.Repeat([]byte("a"), 33<<20)
	if got := p.post(string(large)); got.status != 413 || gjson.Get(got.body, "error.code").Str != "request_too_large" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	p.idle()
}

// Without its picker Envoy refuses, whatever the client says where to go; and all is
// well when it is back.
func TestEnvoyWithoutItsPicker(t *testing.T) {
	p := fronted(t, 1, replies(200, plainReply), "envoy.yaml", nil)
	if got := p.post(chatOf("hello")); got.status != 200 {
		t.Fatalf("status %d, %s", got.status, got.body)
	}
	p.stopPicker()
	for range 3 {
		if got := p.post(chatOf("hello"), "X-Gateway-Destination-Endpoint", p.replicas[0].name); got.status != 503 {
			t.Errorf("status %d without a picker: %s", got.status, got.body)
		}
	}
	if n := len(p.replicas[0].requests()); n != 1 {
		t.Errorf("%d requests reached the replica, want the first alone", n)
	}
	p.servePicker(p.at)
	until(t, "Envoy to find its picker again", func() bool { return p.post(chatOf("hello")).status == 200 })
	p.idle()
}

// Where Envoy knows the endpoints, too, no client hears of one that is gone, or of
// the picker's absence.
func TestEnvoyGoesOnByItself(t *testing.T) {
	p := fronted(t, 2, replies(200, plainReply), "envoy-fail-open.yaml", func(c *config.Provider) { c.Breaker.Open = config.Duration(time.Hour) })
	prompts := map[string]string{} // by the replica that has it
	for i := 0; len(prompts) < 2; i++ {
		body := chatOf(fmt.Sprint("prompt ", i))
		prompts[p.post(body).header.Get("X-Replica")] = body
	}
	for range 5 {
		for name, body := range prompts {
			if got := p.post(body, "X-Gateway-Destination-Endpoint", "127.0.0.1:1"); got.status != 200 || got.header.Get("X-Replica") != name {
				t.Errorf("status %d from %s, want %s", got.status, got.header.Get("X-Replica"), name)
			}
		}
	}
	down, up := p.replicas[0], p.replicas[1]
	down.CloseClientConnections()
	down.Close()
	for range 20 {
		if got := p.post(prompts[down.name]); got.status != 200 || got.header.Get("X-Replica") != up.name {
			t.Errorf("status %d from %q", got.status, got.header.Get("X-Replica"))
		}
	}
	again := 0
	for _, q := range up.requests() {
		if q.header.Get("X-Gateway-Destination-Endpoint") == down.name {
			again++
		}
	}
	if again != 1 {
		t.Errorf("%d requests were tried again until the replica was left alone, want 1", again)
	}
	p.idle()
	p.stopPicker()
	for range 10 {
		if got := p.post(prompts[up.name], "X-Gateway-Destination-Endpoint", "127.0.0.1:1"); got.status != 200 {
			t.Errorf("status %d without a picker: %s", got.status, got.body)
		}
	}
}
