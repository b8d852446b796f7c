package config

import (
	"strings"
	"testing"
)

// refusal is a configuration with a mistake.
type refusal struct {
	name     string
	old, new string // replaced in a configuration that is right
	want     string
}

func (r refusal) check(t *testing.T, right string) {
	t.Helper()
	text := strings.Replace(right, r.old, r.new, 1)
	if text == right {
		t.Fatal("the test changes nothing")
	}
	_, err := Parse([]byte(text))
	if err == nil || !strings.Contains(err.Error(), r.want) {
		t.Errorf("error %v, want %q", err, r.want)
	}
	if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n")) {
		t.Errorf("error is more than one line or quotes a secret: %v", err)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	tests := []refusal{
		{"unknown key with a near one", "listen:", "lisen:", `line 1: unknown key "lisen", did you mean "listen"?`},
		{"unknown key deep down", "{provider: cluster,", "{providr: cluster,", `line 12: unknown key "providr" in models[0].targets[0], did you mean "provider"?`},
		{"a key twice", "listen: 127.0.0.1:8080", "listen: 127.0.0.1:8080\nlisten: 127.0.0.1:8081", `line 2: key "listen" appears twice`},
		{"no address", "listen: 127.0.0.1:8080", "listen:", "line 1: listen has no value"},
		{"address without port", "127.0.0.1:8080", "localhost", `expected an address like 127.0.0.1:8080, got "localhost"`},
		{"zero refill", "    keys:", "    limits: {rpm: 0}\n    keys:", `line 4: tenants[0].limits.rpm: expected a whole number from 1 to 1000G, like 600, got "0"`},
		{"negative limit", "    keys:", "    limits: {output_tpm: -5}\n    keys:", `got "-5"`},
		{"half a token", "    keys:", "    limits: {output_tpm: 0.5}\n    keys:", `got "0.5"`},
		{"a duration without unit", "    targets:", "    timeouts: {idle: 30}\n    targets:", `line 12: models[0].timeouts.idle: expected a duration with its unit from 1ms to 24h, like 10m, got "30", did you mean 30s?`},
		{"a list for a value", "127.0.0.1:8080", "[a]", "line 1: listen: expected a single value, got a list"},
		{"a value for a list", "    endpoints: [http://127.0.0.1:8000]", "    endpoints: x", "line 9: providers[0].endpoints: expected a list, written as […], got a single value"},
		{"a value for keys", "      - hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "      - sk-secret", "line 5: tenants[0].keys[0]: expected {hash: sha256:…} or {key_env: NAME}, for keys are never in the file itself, got a single value"},
		{"a key in place of its hash", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sk-secret", "hash: expected sha256: and 64 hexadecimal digits"},
		{"a key in place of its variable", "hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "key_env: sk-secret", "expected the name of an environment variable"},
		{"hash and key_env", "      - hash:", "      - key_env: A\n        hash:", "expected either hash or key_env"},
		{"no models", "    keys:", "    models: []\n    keys:", "line 4: tenants[0].models is an empty list: list some, or leave it out"},
		{"no keys", "    keys:\n      - hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n", "", `tenant "search": no keys, expected at least one`},
		{"a tenant twice", "providers:", "  - {name: search, keys: [{key_env: A}]}\nproviders:", `tenants: name "search" appears twice`},
		{"a key of two tenants", "providers:", "  - {name: b, keys: [{hash: 'sha256:E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'}]}\nproviders:", `tenant "b": key 1: the same key belongs to tenant "search" already`},
		{"a tenant with an unknown model", "    keys:", "    models: [smal]\n    keys:", `tenant "search": unknown model "smal", did you mean "small"?`},
		{"an unknown provider", "provider: cluster", "provider: clister", `model "small": target 1: unknown provider "clister", did you mean "cluster"?`},
		{"an unknown kind", "kind: openai", "kind: antropic", `provider "cluster": unknown kind "antropic", did you mean "anthropic"?`},
		{"no scheme", "http://127.0.0.1:8000", "127.0.0.1:8000", "expected a URL like http://10.0.0.5:8000"},
		{"a password in a URL", "http://127.0.0.1:8000", "http://u:sk-secret@h:8000", "use key_env"},
		{"a query in a URL", "[http://127.0.0.1:8000]", `["http://h:8000/?key=sk-secret"]`, "without query"},
		{"the whole path of an API", "[http://127.0.0.1:8000]", "[http://h:8000/v1/chat/completions]", "expected a base URL, which ends before /v1/chat/completions"},
		{"an endpoint twice", "[http://127.0.0.1:8000]", "[http://h:1, http://h:1/v1/]", "endpoint 2: appears twice"},
		{"a default above the cap", "    targets:", "    max_tokens: {default: 5, cap: 4}\n    targets:", "max_tokens.default 5 is above cap 4"},
		{"all targets off", "model: tiny", "model: tiny, weight: 0", "no target with a weight above zero"},
		{"negative weight", "model: tiny", "model: tiny, weight: -1", `line 12: models[0].targets[0].weight: expected a whole number from 0 to 1M, got "-1"`},
		{"a weight that is no number", "model: tiny", "model: tiny, weight: x", `line 12: models[0].targets[0].weight: expected a whole number from 0 to 1M, got "x"`},
		{"a name for the eye only", "name: search", `name: "a\u202e b"`, "printable"},
		{"an alias of YAML", "listen: 127.0.0.1:8080", "listen: &a 127.0.0.1:8080", "anchors and aliases are not supported"},
		{"a token nobody asks for", "tenants:", "admin: {token_env: A}\ntenants:", "guards nothing"},
		{"two documents", "listen:", "a: b\n---\nlisten:", "line 2: a second YAML document begins, expected one: remove the --- between them"},
		{"not YAML", "listen:", "\tlisten:", "line 1: indented with a tab, and YAML takes only spaces there"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.check(t, minimal) })
	}
	for _, empty := range []string{"", "\n", "---\n", "null\n", "# nothing\n"} {
		if _, err := Parse([]byte(empty)); err == nil || !strings.HasPrefix(err.Error(), "configuration is empty, expected at least listen, tenants") {
			t.Errorf("of %q: %v", empty, err)
		}
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	tests := []refusal{
		// Listeners.
		{"the port of nobody", "listen: 127.0.0.1:8080", "listen: 127.0.0.1:80800", `listen: expected a port from 0 to 65535, got "80800"`},
		{"a port by name", "listen: 127.0.0.1:8080", "listen: 127.0.0.1:http", "expected a port from 0 to 65535"},
		{"a certificate without key", "key: b.pem, client_ca: c.pem", "client_ca: c.pem", "tls: cert and key belong together"},
		{"clients' certificates without own", "tls: {cert: a.pem, key: b.pem, client_ca: c.pem}", "tls: {client_ca: c.pem}", "tls.client_ca needs cert and key"},
		{"the admin page at the API's address", "127.0.0.1:8081", "127.0.0.1:8080", `admin.listen "127.0.0.1:8080" is the API's own address`},
		{"the admin page at all addresses of the API's port", "127.0.0.1:8081", "'[::]:8080'", `admin.listen "[::]:8080" is the API's own address`},
		{"the admin page at another name of the address", "127.0.0.1:8081", "localhost:8080", "is the API's own address"},
		{"an admin page that all can read", "{listen: 127.0.0.1:8081, token_env: ADMIN,", "{listen: 0.0.0.0:8081,", "can be reached from other machines: set admin.token_env"},
		{"an admin certificate for nothing", "{listen: 127.0.0.1:8081, token_env: ADMIN, tls", "{tls", "admin.tls without admin.listen"},
		{"an admin certificate without key", "tls: {cert: a.pem, key: b.pem}}", "tls: {cert: a.pem}}", "admin.tls: cert and key belong together"},

		// Stores.
		{"a place for limits that there is not", `"redis://10.0.0.1:6379/0"`, "disk", "store.limits: expected memory or a URL like redis://"},
		{"another scheme for limits", `"redis://10.0.0.1:6379/0"`, "http://u:secret@h", "store.limits: expected a URL like redis://"},
		{"a password in the URL of limits", `"redis://10.0.0.1:6379/0"`, "redis://:secret@h:6379", "use limits_key_env"},
		{"a password of no Redis", `"redis://10.0.0.1:6379/0"`, "memory", "store.limits_key_env is the password of a Redis"},
		{"a mistake of what happens without Redis", "limits_key_env: REDIS", "when_down: ignore", `store.when_down: expected refuse or local, got "ignore"`},
		{"what happens without a Redis that is not there", `limits: "redis://10.0.0.1:6379/0", limits_key_env: REDIS`, "when_down: local", "store.when_down says what happens without a Redis"},
		{"a wait for a Redis that is not there", `limits: "redis://10.0.0.1:6379/0", limits_key_env: REDIS`, "timeout: 1s", "store.timeout is how long to wait for a Redis"},
		{"a password as variable of limits", "limits_key_env: REDIS", "limits_key_env: se-secret", "store.limits_key_env: expected the name of an environment variable"},
		{"a place for usage that there is not", `"postgres://u@10.0.0.2/usage"`, "usage.db", "store.usage: expected sqlite:FILE"},
		{"no file", `"postgres://u@10.0.0.2/usage", usage_key_env: PG`, `"sqlite:"`, "expected the path of a file after sqlite:"},
		{"a password in the URL of usage", `"postgres://u@10.0.0.2/usage"`, "postgres://u:secret@h/usage", "use usage_key_env"},
		{"a password in the query of usage", `"postgres://u@10.0.0.2/usage"`, `"postgres://h/usage?sslPassword=secret"`, "use usage_key_env"},
		{"a password of no Postgres", `"postgres://u@10.0.0.2/usage"`, "none", "store.usage_key_env is the password of a Postgres"},
		{"a password as variable of usage", "usage_key_env: PG", "usage_key_env: se-secret", "store.usage_key_env: expected the name of an environment variable"},

		// Traces, sizes.
		{"no collector", `"http://127.0.0.1:4318"`, "127.0.0.1:4317", "traces.endpoint: expected the URL of an OTLP collector"},
		{"a password of the collector", `"http://127.0.0.1:4318"`, "http://u:secret@h", "use OTEL_EXPORTER_OTLP_HEADERS"},
		{"more than all traces", "sample: 0.1", "sample: 1.5", `line 5: traces.sample: expected a number from 0 to 1, got "1.5"`},
		{"no number of traces", "sample: 0.1", "sample: .nan", `got ".nan"`},
		{"no body at all", "8MiB", "0", `line 6: max_body: expected a size from 1KB to 1GiB, like 32MiB, got "0"`},
		{"no time to live", "ttl: 1h", "ttl: 0s", `line 7: idempotency.ttl: expected a duration with its unit from 1ms to 720h, like 10m, got "0s"`},

		{"a long excerpt", "max_body: 8MiB", "segments: {excerpt: 1001}", `segments.excerpt: expected a whole number from 1 to 1000, like 600, got "1001"`},
		{"an excerpt of no report", "max_body: 8MiB", "segments: {enabled: false, excerpt: 10}", "segments.excerpt of a report that is not made"},

		// Classes, flags, filters.
		{"a class twice", "{name: slow, priority: 5", "{name: fast, priority: 5", `classes: name "fast" appears twice`},
		{"half a priority", "priority: -1", "priority: 0.5", `line 8: classes[0].priority: expected a whole number from -1M to 1M, got "0.5"`},
		{"a flag for more than all", "percent: 12.5", "percent: 101", `line 9: flags[0].percent: expected a number from 0 to 100, got "101"`},
		{"a flag for an unknown tenant", "tenants: [search]}", "tenants: [serch]}", `flag "new-model": unknown tenant "serch", did you mean "search"?`},
		{"a flag twice", "flags: [", "flags: [{name: new-model}, ", `flags: name "new-model" appears twice`},
		{"a filter of an unknown kind", "kind: keyword", "kind: keywords", `filter "words": unknown kind "keywords", did you mean "keyword"?`},
		{"a filter of no kind", "name: words, kind: keyword", "name: words", `filter "words": kind is missing, expected keyword or regex`},
		{"a filter without words", "words: [foo, bar]", "on: input", `filter "words": words is missing`},
		{"an empty word", "words: [foo, bar]", "words: [foo, ' ']", `filter "words": word 2 is empty`},
		{"a word twice", "words: [foo, bar]", "words: [foo, Foo]", `filter "words": word 2 appears twice`},
		{"words with a pattern", "words: [foo, bar]", "words: [foo], pattern: x", "pattern is for kind regex"},
		{"a pattern with words", "on: both", "words: [a]", "words are for kind keyword"},
		{"no pattern", `pattern: '\d{16}', `, "", `filter "card": pattern is missing`},
		{"a pattern that is none", `'\d{16}'`, "'(a'", `filter "card": pattern: missing closing )`},
		{"a pattern that is none, of two lines", `'\d{16}'`, `"(a\nb"`, `filter "card": pattern: missing closing )`},
		{"a pattern for everything", `'\d{16}'`, "'x*'", "matches the empty text, and so every request"},
		{"a filter on nothing", "on: both", "on: prompts", `filter "card": unknown on "prompts", known: input, output, both`},
		{"a message of two lines", "message: no cards", `message: "a\nb"`, "message must be one line"},

		// Tenants.
		{"no weight", "weight: 2", "weight: 0", `line 18: tenants[0].weight: expected a whole number from 1 to 1M, got "0"`},
		{"an unknown class", "classes: [fast, slow]", "classes: [fst, slow]", `tenant "search": unknown class "fst", did you mean "fast"?`},
		{"a class twice of a tenant", "classes: [fast, slow]", "classes: [slow, slow]", `classes: "slow" appears twice`},
		{"an unknown priority", "priority: slow", "priority: slw", `tenant "search": priority: unknown class "slw", did you mean "slow"?`},
		{"a priority that is no class of the tenant", "classes: [fast, slow]", "classes: [slow]\n    priority: fast #", `line 18: key "priority" in tenants[0] appears twice`},
		{"a priority outside of the tenant's classes", "    classes: [fast, slow]\n    priority: slow", "    classes: [slow]\n    priority: fast", `tenant "search": priority "fast" is none of the tenant's classes`},
		{"a model twice of a tenant", "models: [big, small]", "models: [big, big]", `models: "big" appears twice`},
		{"models of which none is left", "models: [big, small]", "models: #", "line 15: tenants[0].models has no value"},
		{"a key for an unknown model", "models: [big], classes", "models: [bg], classes", `tenant "search": key 1: unknown model "bg", did you mean "big"?`},
		{"a key for a model that is not its tenant's", "models: [big, small]", "models: [small]", `key 1: model "big" is none of the tenant's own`},
		{"a key for a class that is not its tenant's", "    classes: [fast, slow]\n    priority: slow", "    classes: [fast]", `key 1: class "slow" is none of the tenant's own`},
		{"two keys with one name", "{name: ci,", "{name: key-2,", `key 2: name "key-2" appears twice`},
		{"an amount below zero", "usd_per_day: 40", "usd_per_day: -1", "usd_per_day: expected an amount of $ from 0.000000001 to 1000000000, like 40, got"},
		{"a budget below a billionth of a dollar, which would be none", "usd_per_day: 40", "usd_per_day: 1e-12", `usd_per_day: expected an amount of $ from 0.000000001 to 1000000000, like 40, got "1e-12"`},
		{"an amount without number", "usd_per_day: 40", "usd_per_day: .nan", "usd_per_day: expected an amount of $ from 0.000000001 to 1000000000, like 40, got"},
		{"an amount without end", "usd_per_day: 40", "usd_per_day: .inf", "usd_per_day: expected an amount of $ from 0.000000001 to 1000000000, like 40, got"},

		// Providers.
		{"two kinds of endpoints", "    metrics: vllm", "    base_url: http://h\n    metrics: vllm", "expected either endpoints or base_url"},
		{"no endpoint", "    endpoints: [http://10.0.0.5:8000, http://10.0.0.6:8000]\n", "", `provider "cluster": no endpoints`},
		{"a circle", "http://10.0.0.6:8000", "http://localhost:8080/v1", "endpoint 2: is the gateway itself"},
		{"a salt for another vendor", "key_env: VENDOR", "cache_salt: true", "cache_salt means nothing to kind anthropic: leave it out"},
		{"usage for another vendor", "key_env: VENDOR", "stream_usage: false", "stream_usage means nothing to kind anthropic"},
		{"a priority for another vendor", "key_env: VENDOR", "send_priority: true", "send_priority means nothing to kind anthropic"},
		{"metrics of another vendor", "key_env: VENDOR", "metrics: auto", "metrics means nothing to kind anthropic"},
		{"a switch that is neither on nor off", "send_priority: true", "send_priority: 7", `line 30: providers[0].send_priority: expected true or false, got "7"`},
		{"metrics of an unknown engine", "metrics: vllm", "metrics: vlm", `unknown metrics "vlm", did you mean "vllm"?`},
		{"shedding blindly", "    metrics: vllm\n    metrics_every: 2s\n", "", "shed goes by the endpoints' metrics"},
		{"reading nothing every two seconds", "metrics: vllm", "metrics: none", "metrics_every without metrics reads nothing"},
		{"an unknown policy", "policy: prefix_affinity", "policy: prefix-affinity", `unknown router.policy "prefix-affinity", did you mean "prefix_affinity"?`},
		{"a load cap of another policy", "policy: prefix_affinity", "policy: round_robin", "router.load_cap is of the policy prefix_affinity, and this provider has round_robin"},
		{"a load cap below the mean", "load_cap: 1.5", "load_cap: 0.5", `load_cap: expected a number from 1 to 1000, got "0.5"`},
		{"more than a whole cache", "kv_usage: 0.9", "kv_usage: 90", `kv_usage: expected a number above 0 to 1, got "90"`},
		{"none of a cache", "kv_usage: 0.9", "kv_usage: 0", `kv_usage: expected a number above 0 to 1, got "0"`},
		{"more than all fail", "failure_rate: 0.4", "failure_rate: 1.01", `failure_rate: expected a number above 0 to 1, got "1.01"`},
		{"none may fail", "failure_rate: 0.4", "failure_rate: 0", `failure_rate: expected a number above 0 to 1, got "0"`},
		{"too many probes", "probes: 2", "probes: 2000", `breaker.probes: expected a whole number from 1 to 1000, like 600, got "2000"`},

		// Targets.
		{"no model", "model: m1, ", "", `model "big": target 1: model is missing`},
		{"no provider", "{provider: cluster, model: m1", "{model: m1", `model "big": target 1: the provider is missing`},
		{"half a weight", "weight: 95", "weight: 1.5", `weight: expected a whole number from 0 to 1M, got "1.5"`},
		{"a target twice", "model: m2", "model: m1", `target 2: provider "cluster" and model "m1" are a target already`},
		{"nothing but canaries", "{provider: cluster, model: m1, weight: 95", "{provider: cluster, model: m1, canary: true", "every target is a canary"},
		{"a canary whose counterpart is off", "weight: 95", "weight: 0", "every target is a canary"},
		{"nothing but flags", "model: m1,", "model: m1, flag: new-model,", "every target has a flag"},
		{"an unknown flag", "flag: new-model", "flag: new-modl", `target 2: unknown flag "new-modl", did you mean "new-model"?`},
		{"a class that is none", "classes: [slow], usd", "classes: [interactive], usd", `target 2: unknown class "interactive", known: fast, slow`},
		{"a capability twice", "[tools, vision]", "[tools, tools]", `capability "tools" appears twice`},
		{"an empty capability", "[tools, vision]", "[tools, '']", "capability 2 is empty"},
		{"a price below zero", "input: 0.4", "input: -0.4", `input: expected a number, 0 or 0.000001 to 1M, got "-0.4"`},
		{"a price that would round to nothing", "input: 0.4", "input: 1e-7", `input: expected a number, 0 or 0.000001 to 1M, got "1e-7"`},
		{"a ceiling below a billionth of a dollar", "usd_per_request: 0.002", "usd_per_request: 1e-12", "usd_per_request: expected an amount of $ from 0.000000001"},
		{"a price that is no number", "output: 0.6", "output: .nan", `output: expected a number, 0 or 0.000001 to 1M, got ".nan"`},
		{"a price without end", "output: 0.6", "output: .inf", `got ".inf"`},
		{"a cached price alone", "{input: 0.4, cached_input: 0.1, output: 0.6}", "{cached_input: 0.1}", "usd_per_1m.cached_input without usd_per_1m.input"},
		{"tokens that no tokenizer makes", "context: 128k", "tokens_factor: 90", `tokens_factor: expected a number from 0.1 to 10, got "90"`},
		{"saturation of a target", "weight: 95", "when_saturated: true", "target 1: when_saturated is of fallbacks"},

		// Fallbacks.
		{"a fallback on a target", "{provider: vendor, model: v,", "{provider: cluster, model: m2,", "fallback 1: is target 2 already, and no target is tried twice"},
		{"a fallback twice", "fallback: [", "fallback: [{provider: vendor, model: v}, ", "fallback 2: is fallback 1 already"},
		{"a weight of a fallback", "when_saturated: false", "weight: 3", "fallback 1: weight is of targets"},
		{"a canary of a fallback", "when_saturated: false", "canary: true", "fallback 1: canary is of targets"},
		{"a fallback to an unknown provider", "{provider: vendor, model: v,", "{provider: vendr, model: v,", `fallback 1: unknown provider "vendr", did you mean "vendor"?`},

		// Models.
		{"an unknown stickiness", "sticky: tenant", "sticky: tenants", `unknown sticky "tenants", did you mean "tenant"?`},
		{"an unknown model in answers", "response_model: alias", "response_model: real", `unknown response_model "real", known: upstream, alias`},
		{"an unknown filter", "filters: [words, card]", "filters: [words, cards]", `model "big": unknown filter "cards", did you mean "card"?`},
		{"a ceiling without amount", "usd_per_request: 0.002, ", "", "cost_ceiling.usd_per_request is missing"},
		{"a ceiling without score", ", unless_complexity: 0.6", "", "cost_ceiling.unless_complexity is missing"},
		{"a ceiling that never holds", "unless_complexity: 0.6", "unless_complexity: 0", `unless_complexity: expected a number above 0 to 1, got "0"`},
		{"a ceiling without prices", ", usd_per_1m: {input: 0, output: 0}", "", "target 2 has no usd_per_1m with input and output"},
		{"no attempt", "attempts: 4", "attempts: 0", "expected a whole number from 1"},
		{"too many attempts", "attempts: 4", "attempts: 101", `retry.attempts: expected a whole number from 1 to 100, like 5, got "101"`},
		{"more retries than requests", "budget: 0}", "budget: 1.2}", `budget: expected a number from 0 to 1, got "1.2"`},
		{"a time to live of no cache", "exact: true, ttl: 5m, semantic: {enabled: true,", "ttl: 5m, semantic: {enabled: false,", "cache.ttl without a cache"},
		{"a semantic cache without embeddings", "provider: cluster, model: e,", "provider: cluster,", "cache.semantic needs the provider and the model that make its embeddings"},
		{"a semantic cache of an unknown provider", "provider: cluster, model: e,", "provider: clustr, model: e,", `cache.semantic: unknown provider "clustr", did you mean "cluster"?`},
		{"a semantic cache of a vendor without embeddings", "provider: cluster, model: e,", "provider: vendor, model: e,", `cache.semantic: provider "vendor" is of kind anthropic, which has no embeddings`},
		{"everything is similar", "threshold: 0.9", "threshold: 0", `threshold: expected a number above 0 to 1, got "0"`},
		{"something in the wrong place", "model: m1,", "model: m1, keys: [sk-secret],", `unknown key "keys" in models[0].targets[0], known here:`},
	}
	if _, err := Parse([]byte(rich)); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.check(t, rich) })
	}
}
