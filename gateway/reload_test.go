package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/reload"
)

// Under load, fifty configurations come and go, each with other endpoints, limits
// and tenants, and no stream is cut, doubled or refused.
func TestFiftyReloadsUnderLoadDropNoStream(t *testing.T) {
	const reloads, clients = 50, 8
	var served atomic.Int64
	half := make(chan struct{})
	upstream := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, roleEvent, helloEvent)
		<-half // the next reload
		sse(w, worldEvent, finishEvent, usageEvent, doneEvent)
		served.Add(1)
	}
	s := serve(t, upstream)
	endpoint := s.gateway.fleet.Status()[0].Endpoints[0].URL

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var whole atomic.Int64
	want := roleEvent + helloEvent + worldEvent + finishEvent + doneEvent
	for range clients {
		load.Go(func() {
			for ctx.Err() == nil {
				if got := s.post(streamBody); got.status != 200 || got.body != want {
					t.Errorf("status %d, %q", got.status, got.body)
					return
				}
				whole.Add(1)
			}
		})
	}
	goOn := func() {
		select {
		case half <- struct{}{}:
		case <-time.After(patience):
			t.Error("no stream is half-way through")
		}
	}
	for i := range reloads {
		goOn() // so that at least one stream was half-way through
		next := testConfig(endpoint)
		next.Tenants[0].Limits.RPM = config.Count(1_000_000 + i)
		next.Tenants = append(next.Tenants, config.Tenant{Name: fmt.Sprintf("guest-%d", i), Keys: []config.Key{{Hash: config.HashKey(fmt.Sprint("sk-", i))}}})
		if i%2 == 0 {
			next.Providers = append([]config.Provider{{Name: "spare", Endpoints: []string{"http://127.0.0.1:1"}}}, next.Providers...)
			next.Models = append(next.Models, config.Model{Alias: "other", Targets: []config.Target{{Provider: "spare", Model: "m"}}})
		}
		if err := s.gateway.Reload(next); err != nil {
			t.Fatal(err)
		}
		goOn()
	}
	stop()
	close(half)
	load.Wait()
	s.settled()
	if whole.Load() != served.Load() || whole.Load() < 2*reloads {
		t.Errorf("%d whole streams of %d that the upstream served", whole.Load(), served.Load())
	}
}

func TestRefusedConfigurationChangesNothing(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	before := s.gateway.table.Load()
	for name, edit := range map[string]func(*config.Config){
		"a mistake":                  func(c *config.Config) { c.Models[0].Targets[0].Provider = "nobody" },
		"a variable that is not set": func(c *config.Config) { c.Providers[0].KeyEnv = "NEVER_SET" },
		"a key of two tenants":       func(c *config.Config) { c.Tenants[1].Keys[0] = c.Tenants[0].Keys[0] },
	} {
		bad := testConfig("http://127.0.0.1:1")
		bad.Tenants[0].Keys = append([]config.Key{{Hash: config.HashKey("sk-new")}}, bad.Tenants[0].Keys...)
		edit(bad)
		if err := s.gateway.Reload(bad); err == nil {
			t.Errorf("%s was taken", name)
		}
		if s.gateway.table.Load() != before {
			t.Errorf("%s replaced the table", name)
		}
		if got := s.post(plainBody); got.status != 200 {
			t.Errorf("after %s: status %d", name, got.status)
		}
	}
}

// followed is a stand whose configuration is in a file.
func followed(t *testing.T, edit ...func(*config.Config, *Options)) (s *stand, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gateway.yaml")
	write(t, path, fileConfig)
	s = serve(t, replies(200, plainReply), edit...)
	file, _, err := reload.Open(path, reload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.gateway.Follow(file)
	return s, path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var fileConfig = `listen: 127.0.0.1:8080
admin: {listen: 127.0.0.1:8081, token_env: ADMIN_TOKEN}
tenants: [{name: search, keys: [{hash: "` + config.HashKey(searchKey) + `"}]}]
providers: [{name: p, endpoints: [http://127.0.0.1:1]}]
models: [{alias: from-the-file, targets: [{provider: p, model: m}]}]
`

// admins sends a request to the admin listener, with a token or without.
func (s *stand) admins(method, path, token string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.admin+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return s.do(r)
}

func TestAdminReload(t *testing.T) {
	s, path := followed(t)
	for token, want := range map[string]int{"": 401, searchKey: 401, adminToken: 200} {
		if got := s.admins(http.MethodPost, "/admin/reload", token); got.status != want {
			t.Errorf("with %q: status %d, want %d: %s", token, got.status, want, got.body)
		}
	}
	if got := s.post(plainBody); got.status != 404 {
		t.Errorf("an alias that is not in the file: status %d", got.status)
	}
	if got := s.admins(http.MethodGet, "/admin/reload", adminToken); got.status != 405 {
		t.Errorf("GET: status %d", got.status)
	}

	write(t, path, strings.Replace(fileConfig, "alias:", "alas:", 1))
	got := s.admins(http.MethodPost, "/admin/reload", adminToken)
	if message := gjson.Get(got.body, "error.message").Str; got.status != 400 || gjson.Get(got.body, "error.code").Str != "configuration_refused" ||
		!strings.Contains(message, `did you mean "alias"`) || !strings.Contains(message, "the old configuration stays") {
		t.Errorf("a mistake: status %d, %s", got.status, got.body)
	}

	write(t, path, strings.Replace(fileConfig, "8080", "9090", 1))
	got = s.admins(http.MethodPost, "/admin/reload", adminToken)
	hash := gjson.Get(got.body, "hash").Str
	if diff := cmp.Diff(`{"schema":"llmctl/reload/v1","hash":"`+hash+`","restart_needed":["listen"]}`+"\n", got.body); diff != "" || len(hash) != 12 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	metrics := s.metrics()
	for _, want := range []string{
		`llmctl_gateway_config_reload_total{result="ok"} 2`, `llmctl_gateway_config_reload_total{result="refused"} 1`,
		`llmctl_gateway_config_info{hash="` + hash + `"} 1`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// A page in a browser on the same machine can send a POST to an open listener, so
// what changes something is never open.
func TestAdminReloadIsNeverOpen(t *testing.T) {
	open := configure(func(c *config.Config) { c.Admin.TokenEnv = "" })
	s, _ := followed(t, open)
	if got := s.admins(http.MethodPost, "/admin/reload", ""); got.status != 403 || gjson.Get(got.body, "error.code").Str != "admin_token_missing" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if got := s.admins(http.MethodGet, "/metrics", ""); got.status != 200 {
		t.Errorf("metrics: status %d", got.status)
	}
	alone := serve(t, mustNotBeCalled(t))
	if got := alone.admins(http.MethodPost, "/admin/reload", adminToken); got.status != 404 {
		t.Errorf("without a file: status %d", got.status)
	}
}
