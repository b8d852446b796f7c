package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/gateway/config"
)

// everything is a configuration in which each key has a value.
const everything = `listen: 127.0.0.1:8080
tls: {cert: a.pem, key: a.key, client_ca: ca.pem}
admin: {listen: 127.0.0.1:8081, token_env: ADMIN, tls: {cert: b.pem, key: b.key, client_ca: cb.pem}}
picker: {listen: 127.0.0.1:9002, provider: cluster, tls: {cert: c.pem, key: c.key, client_ca: cc.pem}}
store: {limits: "redis://10.0.0.9:6379/0", limits_key_env: REDIS, when_down: local, timeout: 300ms, usage: "postgres://u@10.0.0.8/usage", usage_key_env: PG, usage_keep: 100h}
traces: {endpoint: "http://127.0.0.1:4318", sample: 0.25}
max_body: 8MiB
max_answer: 16MiB
cache_size: 4MiB
sse_keepalive: 15s
origins: [https://app.example.com]
idempotency: {ttl: 2h}
segments: {enabled: true, excerpt: 40}
classes: [{name: fast, priority: -1, max_queue: 7, queue_timeout: 3s}, {name: slow, priority: 5}]
flags: [{name: new, percent: 12.5, tenants: [search]}]
filters: [{name: words, kind: keyword, words: [foo, bar], on: both, message: no}, {name: card, kind: regex, pattern: '\d{16}'}]
tenants:
  - name: search
    keys: [{name: ci, key_env: CI, models: [big], classes: [slow], limits: {rpm: 5, input_tpm: 6, output_tpm: 7, concurrent: 8, usd_per_day: 9.5, usd_per_month: 10.5}}]
    limits: {rpm: 600, input_tpm: 200k, output_tpm: 60k, concurrent: 50, usd_per_day: 40, usd_per_month: 800}
    models: [big]
    classes: [fast, slow]
    priority: slow
    weight: 2
providers:
  - name: cluster
    kind: openai
    base_url: http://10.0.0.5:8000
    key_env: VENDOR
    cache_salt: true
    stream_usage: true
    send_priority: true
    limit_headers: true
    metrics: vllm
    metrics_every: 2s
    router: {policy: prefix_affinity, load_cap: 1.5}
    in_flight: 64
    max_queue: 10
    queue_timeout: 5s
    shed: {queue: 8, kv_usage: 0.9}
    breaker: {window: 11s, min_requests: 5, failure_rate: 0.4, open: 3s, probes: 2}
models:
  - alias: big
    max_tokens: {default: 5, cap: 9}
    targets: [{provider: cluster, model: m1, weight: 3, canary: true, flag: new, capabilities: [tools], context: 8k, tokens_factor: 1.25, classes: [fast], usd_per_1m: {input: 0.4, cached_input: 0.1, output: 0.6}}, {provider: cluster, model: m0, flag: new, usd_per_1m: {input: 1, output: 1}}, {provider: cluster, model: m2, usd_per_1m: {input: 1, output: 1}}]
    fallback: [{provider: cluster, model: m3, when_saturated: true, capabilities: [tools], context: 16k, tokens_factor: 1.5, classes: [fast], flag: new, usd_per_1m: {input: 2, cached_input: 1, output: 3}}]
    sticky: tenant
    cost_ceiling: {usd_per_request: 0.002, unless_complexity: 0.6}
    timeouts: {first_token: 20s, idle: 30s, total: 9m}
    retry: {attempts: 4, backoff: 50ms, budget: 0.1}
    cache: {exact: true, ttl: 90m, charge: 0.5, semantic: {enabled: true, provider: cluster, model: bge, threshold: 0.9, timeout: 200ms, usd_per_1m: {input: 0.02}}}
    filters: [words]
    response_model: alias
    stored_responses: true
`

// untold are keys that --check leaves out: what filters hold, keys' hashes, and files
// that nobody else needs to know. A fallback has no share, and no arm of its own.
var untold = map[string]bool{
	"tls.key": true, "admin.tls.key": true, "picker.tls.key": true,
	"filters.words": true, "filters.pattern": true, "filters.message": true,
	"models.targets.when_saturated": true, // of fallbacks only
	"models.fallback.weight":        true, "models.fallback.canary": true,
	"providers.endpoints": true, // base_url is there in its place
}

func explained(t *testing.T, c *config.Config) string {
	t.Helper()
	usage, err := usageStore(c, func(name string) string { return map[string]string{"HOME": "/home/a"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := explain(&text, c, usage); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// Whatever key has another value, --check tells something else.
func TestCheckTellsEveryKey(t *testing.T) {
	c, err := config.Parse([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	before := explained(t, c)
	keys := 0
	var visit func(path string, v reflect.Value)
	changes := func(path string, v reflect.Value, to reflect.Value) {
		keys++
		old := reflect.ValueOf(v.Interface())
		v.Set(to)
		if after := explained(t, c); (after == before) != untold[path] {
			t.Errorf("%s: another value is told: %t", path, after != before)
		}
		v.Set(old)
	}
	visit = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
				visit(strings.TrimPrefix(path+"."+key, "."), v.Field(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				visit(path, v.Elem())
			} else if !untold[path] {
				t.Errorf("%s has no value here", path)
			}
		case reflect.Slice:
			if v.Len() > 0 { // the first entry stands for all
				visit(path, v.Index(0))
			} else if !untold[path] {
				t.Errorf("%s has no value here", path)
			}
		case reflect.String:
			if v.Len() == 0 && !untold[path] && path != "tenants.keys.hash" { // key_env is there in its place
				t.Errorf("%s has no value here", path)
			}
			changes(path, v, reflect.ValueOf(v.String()+"x").Convert(v.Type()))
		case reflect.Bool:
			changes(path, v, reflect.ValueOf(!v.Bool()).Convert(v.Type()))
		case reflect.Int, reflect.Int64:
			changes(path, v, reflect.ValueOf(2*v.Int()+3).Convert(v.Type()))
		case reflect.Float64:
			changes(path, v, reflect.ValueOf(v.Float()/2).Convert(v.Type()))
		default:
			t.Errorf("%s is a %v", path, v.Kind())
		}
	}
	visit("", reflect.ValueOf(c).Elem())
	if keys < 100 {
		t.Errorf("only %d keys were looked at", keys)
	}
}

// Lines fit a terminal.
func TestCheckFitsEightyColumns(t *testing.T) {
	for _, path := range []string{"../../examples/gateway.yaml", "../../examples/gateway-cluster.yaml", ""} {
		text := []byte(everything)
		if path != "" {
			var err error
			if text, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		c, err := config.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(explained(t, c)) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", path, n, line)
			}
		}
	}
}

func TestLasting(t *testing.T) {
	for in, want := range map[config.Duration]string{
		config.Duration(config.DefaultTotal): "10m", config.Duration(config.DefaultIdempotency): "24h",
		config.Duration(config.DefaultMetricsEvery): "1s", config.Duration(config.DefaultBackoff): "100ms", 90 * 60e9: "1h30m", 90e9: "1m30s", 3601e9: "1h0m1s",
	} {
		if got := lastingOr(in, 0); got != want {
			t.Errorf("%d is %q, want %q", in, got, want)
		}
	}
}
