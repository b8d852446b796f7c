package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const minimal = `listen: 127.0.0.1:8080
tenants:
  - name: search
    keys:
      - hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
providers:
  - name: cluster
    kind: openai
    endpoints: [http://127.0.0.1:8000]
models:
  - alias: small
    targets: [{provider: cluster, model: tiny}]
`

// rich has most of what there is, as a ground for mistakes.
const rich = `listen: 127.0.0.1:8080
tls: {cert: a.pem, key: b.pem, client_ca: c.pem}
admin: {listen: 127.0.0.1:8081, token_env: ADMIN, tls: {cert: a.pem, key: b.pem}}
store: {limits: "redis://10.0.0.1:6379/0", limits_key_env: REDIS, usage: "postgres://u@10.0.0.2/usage", usage_key_env: PG}
traces: {endpoint: "http://127.0.0.1:4318", sample: 0.1}
max_body: 8MiB
idempotency: {ttl: 1h}
classes: [{name: fast, priority: -1}, {name: slow, priority: 5, max_queue: 10, queue_timeout: 1m}]
flags: [{name: new-model, percent: 12.5, tenants: [search]}]
filters: [{name: words, kind: keyword, words: [foo, bar]}, {name: card, kind: regex, pattern: '\d{16}', on: both, message: no cards}]
tenants:
  - name: search
    keys: [{name: ci, key_env: CI, models: [big], classes: [slow], limits: {usd_per_month: 9.5}}, {key_env: OTHER}]
    limits: {rpm: 600, usd_per_day: 40}
    models: [big, small]
    classes: [fast, slow]
    priority: slow
    weight: 2
providers:
  - name: cluster
    endpoints: [http://10.0.0.5:8000, http://10.0.0.6:8000]
    metrics: vllm
    metrics_every: 2s
    router: {policy: prefix_affinity, load_cap: 1.5}
    in_flight: 64
    max_queue: 10
    queue_timeout: 5s
    shed: {queue: 8, kv_usage: 0.9}
    breaker: {window: 10s, min_requests: 5, failure_rate: 0.4, open: 3s, probes: 2}
    send_priority: true
  - {name: vendor, kind: anthropic, base_url: https://api.example.com, key_env: VENDOR}
models:
  - alias: big
    max_tokens: {default: 5, cap: 9}
    targets:
      - {provider: cluster, model: m1, weight: 95, capabilities: [tools, vision], context: 128k, usd_per_1m: {input: 0.4, cached_input: 0.1, output: 0.6}}
      - {provider: cluster, model: m2, weight: 5, canary: true, flag: new-model, classes: [slow], usd_per_1m: {input: 0, output: 0}}
    fallback: [{provider: vendor, model: v, when_saturated: false}]
    sticky: tenant
    cost_ceiling: {usd_per_request: 0.002, unless_complexity: 0.6}
    timeouts: {first_token: 20s, idle: 30s, total: 10m}
    retry: {attempts: 4, backoff: 50ms, budget: 0}
    cache: {exact: true, ttl: 5m, semantic: {enabled: true, provider: cluster, model: e, threshold: 0.9}}
    filters: [words, card]
    response_model: alias
  - {alias: small, targets: [{provider: cluster, model: s, capabilities: []}]}
`

// asJSON is indented with tabs, as Go's and other tools write it.
const asJSON = "{\n\t\"listen\": \"127.0.0.1:8080\",\n\t\"tenants\": [\n\t\t{\"name\": \"a\", \"keys\": [{\"key_env\": \"A\"}], \"limits\": {\"rpm\": 600, \"input_tpm\": \"200k\"}}\n\t],\n" +
	"\t\"providers\": [{\"name\": \"p\", \"endpoints\": [\"http:\\/\\/127.0.0.1:8000\"]}],\n\t\"models\": [{\"alias\": \"m\", \"targets\": [{\"provider\": \"p\", \"model\": \"m\"}]}]\n}\n"

// examples are the configurations that users start from.
var examples = []string{"gateway.yaml", "gateway-cluster.yaml"}

// The first example takes the key that its comment names, and the docs show it.
func TestFirstExampleWorksAsItSays(t *testing.T) {
	text := readExample(t, "gateway.yaml")
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Tenants[0].Keys[0].Hash; got != HashKey("sk-example") || !strings.Contains(text, "The key is sk-example") {
		t.Errorf("key hash %s, want that of sk-example: %s", got, HashKey("sk-example"))
	}
	if _, shown, _ := strings.Cut(text, "#\nlisten:"); !strings.Contains(readDocs(t), "```yaml\nlisten:"+shown+"```") {
		t.Error("docs/gateway.md shows another configuration")
	}
}

func TestConfigurationSurvivesWriting(t *testing.T) {
	texts := map[string]string{"minimal": minimal, "rich": rich, "JSON": asJSON}
	for _, name := range examples {
		texts[name] = readExample(t, name)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			before, err := Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			written, err := yaml.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			after, err := Parse(written)
			if err != nil {
				t.Fatalf("%v in\n%s", err, written)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

func TestJSONIsAConfigurationToo(t *testing.T) {
	c, err := Parse([]byte(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Providers[0].Endpoints[0]; got != "http://127.0.0.1:8000" {
		t.Errorf("escaped slashes: %q", got)
	}
	c, err = Parse([]byte(strings.Replace(asJSON, `"alias": "m"`, `"alias": "\\\ud83D\uDE00\u0041"`, 1)))
	if err != nil || c.Models[0].Alias != `\😀A` {
		t.Errorf("escaped characters: %v, %v", c, err)
	}
	if _, err := Parse([]byte(strings.Replace(asJSON, `"alias": "m"`, `"alias": "\ud83d\u0022"`, 1))); err == nil {
		t.Error("half a character was accepted")
	}
	_, err = Parse([]byte(strings.Replace(asJSON, `"alias"`, `"alas"`, 1)))
	if err == nil || err.Error() != `line 7: unknown key "alas" in models[0], did you mean "alias"?` {
		t.Errorf("a mistake in JSON: %v", err)
	}
}

func TestMissingVariablesAreNamedAtOnce(t *testing.T) {
	c, err := Parse([]byte(rich))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ReadEnvironment(func(name string) (string, bool) { return "", name == "CI" })
	want := `environment variables ADMIN (admin.token_env), REDIS (store.limits_key_env), PG (store.usage_key_env), CI (key 1 of tenant "search"), OTHER (key 2 of tenant "search"), VENDOR (provider "vendor") are not set`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	env, err := c.ReadEnvironment(func(name string) (string, bool) { return " value of " + name + "\n", true })
	if err != nil || env["PG"] != "value of PG" {
		t.Errorf("%v, %v", env, err)
	}
}

func readExample(t testing.TB, name string) string {
	data, err := os.ReadFile("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What is accepted can be written and read again, and says the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	for _, name := range examples {
		f.Add([]byte(readExample(f, name)))
	}
	f.Add([]byte(rich))
	f.Add([]byte(asJSON))
	f.Add([]byte("listen: &a [*a]\n"))
	f.Add([]byte("? {a: b}\n: c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has several lines: %q", err)
			}
			return
		}
		written, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatalf("(-before +after):\n%s", diff)
		}
	})
}
