package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Mistakes of who writes the first configuration: each is answered with where it
// is, what was seen and what to do.
func TestMistakesOfNewcomersAreExplained(t *testing.T) {
	const hash = "- hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	tests := []refusal{
		// Indentation and punctuation.
		{"a tab", "    keys:", "\tkeys:", "line 4: indented with a tab, and YAML takes only spaces there"},
		{"a tab behind spaces", "    kind:", "  \tkind:", "line 8: indented with a tab"},
		{"too little indentation", "    keys:", "   keys:", "the indentation changes within a list: its dashes, and the keys of one entry, each stand in one column"},
		{"no dash", "  - name: search", "    name: search", "line 3: tenants: expected a list, written as entries that begin with -, got a mapping"},
		{"no colon", "listen: ", "listen ", `near line 2: a colon where none fits`},
		{"no blank behind a colon", "listen: ", "listen:", `the one above lacks its ": "`},
		{"an open quote", "listen: ", `listen: "`, "a quote is not closed"},
		{"an open brace", "model: tiny}]", "model: tiny", "a { is not closed, or a comma is missing"},
		{"a name that needs quotes", "name: search", "name: @search", "near line 3: text that begins with @, ` or % needs quotes around it"},
		{"a backslash", "name: search", `name: "a\search"`, "use 'single quotes'"},
		{"a template", "    keys:", "    limits: {{ .Values.limits }}\n    keys:", "line 4: tenants[0].limits: expected a key, got a mapping: what stands in {{ }} must be filled in before"},
		{"an alias without its anchor", "name: search", "name: *search", "anchors and aliases are not supported: write the value out where it is needed"},
		{"an entry without value", "endpoints: [http://127.0.0.1:8000]", "endpoints:\n      -", "line 10: providers[0].endpoints: entry 1 is empty"},

		// Values of another kind.
		{"a word for a number", "    keys:", "    limits: {rpm: sixty}\n    keys:", `line 4: tenants[0].limits.rpm: expected a whole number from 1 to 1000G, like 600, got "sixty"`},
		{"a percentage", "model: tiny", "model: tiny, weight: 95%", `weight: expected a whole number from 0 to 1M, got "95%"`},
		{"a price with its currency", "model: tiny", "model: tiny, usd_per_1m: {input: $0.4}", `usd_per_1m.input: expected a number, 0 or 0.000001 to 1M, got "$0.4"`},
		{"one price", "model: tiny", "model: tiny, usd_per_1m: 0.4", "line 12: models[0].targets[0].usd_per_1m: expected prices like {input: 0.4, output: 1.6}, got a single value"},
		{"days", "    targets:", "    timeouts: {total: 1d}\n    targets:", `timeouts.total: expected a duration with its unit from 1ms to 24h, like 10m, got "1d"`},
		{"seconds without their unit", "    targets:", "    timeouts: {total: 90}\n    targets:", `got "90", did you mean 90s?`},
		{"the alias of a model as fallback", "    targets:", "    fallback: [small]\n    targets:", "line 12: models[0].fallback[0]: expected a deployment like {provider: NAME, model: NAME}, not the alias of a model, got a single value"},
		{"TLS as a switch", "tenants:", "tls: true\ntenants:", "line 2: tls: expected a mapping with keys (cert, client_ca, key), got a single value"},
		{"an origin with a path", "tenants:", "origins: [https://a.example/b]\ntenants:", `line 2: origins[0]: expected an origin like https://app.example.com, or "*", got "https://a.example/b"`},
		{"an engine as kind", "kind: openai", "kind: vLLM", `line 8: provider "cluster": kind "vLLM": expected the protocol, which is openai with such servers`},
		{"a variable of the shell", "listen: 127.0.0.1:8080", "listen: ${HOST}:8080", "line 1: listen: holds a variable in ${ }, and none are filled in"},
		{"a variable of the shell in a list", "http://127.0.0.1:8000", "'http://${HOST}:8000'", "line 9: providers[0].endpoints[0]: holds a variable in ${ }, and none are filled in"},
		{"a variable of the shell in braces", "- hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "- { key_env: ${SEARCH_KEY} }", "line 5: holds a variable in ${ }, and none are filled in"},
		{"a variable of the shell in brackets", "[http://127.0.0.1:8000]", "[${ENGINE}]", "line 9: holds a variable in ${ }, and none are filled in"},
		{"an open brace beside a variable in quotes", "[http://127.0.0.1:8000]", "['${A}'", "a [ is not closed, or a comma is missing"},
		{"a URL as address", "127.0.0.1:8080", "http://127.0.0.1:8080", `line 1: listen: expected an address like 127.0.0.1:8080, got "http://127.0.0.1:8080"`},

		// Absurd values.
		{"a port of nobody", "http://127.0.0.1:8000", "http://127.0.0.1:99999", `line 9: provider "cluster": endpoint 1: expected a port from 1 to 65535, got 99999`},
		{"port zero", "http://127.0.0.1:8000", "http://127.0.0.1:0", "expected a port from 1 to 65535, got 0"},
		{"a Redis at a port of nobody", "tenants:", "store: {limits: redis://h:99999}\ntenants:", "line 2: store.limits: expected a port from 1 to 65535, got 99999"},
		{"a named database of Redis", "tenants:", "store: {limits: redis://h/cache}\ntenants:", "line 2: store.limits: expected the number of a database"},
		{"a Postgres at a port of nobody", "tenants:", "store: {usage: postgres://h:99999/x}\ntenants:", "line 2: store.usage: expected a port from 1 to 65535, got 99999"},
		{"a collector at a port of nobody", "tenants:", "traces: {endpoint: http://h:99999}\ntenants:", "line 2: traces.endpoint: expected a port from 1 to 65535, got 99999"},
		{"a time-out of a year", "    targets:", "    timeouts: {total: 10000h}\n    targets:", `from 1ms to 24h, like 10m, got "10000h"`},
		{"a time-out of nothing", "    targets:", "    timeouts: {idle: 1ns}\n    targets:", `timeouts.idle: expected a duration with its unit from 1ms to 24h, like 10m, got "1ns"`},
		{"a body of everything", "tenants:", "max_body: 1000000TB\ntenants:", `line 2: max_body: expected a size from 1KB to 1GiB, like 32MiB, got "1000000TB"`},
		{"a body of nothing", "tenants:", "max_body: 3\ntenants:", `got "3"`},
		{"a queue without end", "    kind:", "    max_queue: 1G\n    kind:", `line 8: providers[0].max_queue: expected a whole number from 1 to 1M, like 600, got "1G"`},

		// Keys and secrets.
		{"tokens per minute", "    keys:", "    limits: {tpm: 60}\n    keys:", `line 4: unknown key "tpm" in tenants[0].limits, did you mean "input_tpm" or "output_tpm"?`},
		{"requests per second", "    keys:", "    limits: {rps: 60}\n    keys:", `did you mean "rpm"?`},
		{"a budget by another name", "    keys:", "    limits: {max_budget: 60}\n    keys:", `did you mean "usd_per_day" or "usd_per_month"?`},
		{"requests at once by another name", "    keys:", "    limits: {max_parallel_requests: 6}\n    keys:", `did you mean "concurrent"?`},
		{"one key", "    keys:", "    key:", `line 4: unknown key "key" in tenants[0], did you mean "keys"?`},
		{"a list of models as another gateway has it", "models:", "model_list:", `line 10: unknown key "model_list", did you mean "models"?`},
		{"a key of a provider", "    kind:", "    api_key: sk-secret\n    kind:", `line 8: unknown key "api_key" in providers[0], did you mean "key_env"?`},
		{"the address of a provider", "    endpoints:", "    url:", `did you mean "endpoints" or "base_url"?`},
		{"a key in the clear", hash, "- key: sk-secret", `line 5: unknown key "key" in tenants[0].keys[0]: keys are never in the file itself, expected hash (llmctl gateway hash makes it) or key_env`},
		{"a list of keys in the clear", hash, "- sk-secret", "line 5: tenants[0].keys[0]: expected {hash: sha256:…} or {key_env: NAME}, for keys are never in the file itself"},
		{"a key that could be a variable's name", hash, "- key_env: gsk_secret0123456789abcdef", "line 5: " + `tenant "search": key 1: key_env: expected the name of an environment variable, bare like VENDOR_KEY, and not the key itself`},
		{"a hash without its prefix", "sha256:", "", "as llmctl gateway hash prints them for a key"},
		{"a key without anything", hash, "- name: ci", `line 5: tenant "search": key 1: neither hash nor key_env: llmctl gateway key makes a key and its hash`},
		{"no keys at all", "    keys:\n      " + hash, "    keys: []", "line 4: tenants[0].keys is an empty list, expected at least one key: a tenant without any cannot call"},
		{"nothing below keys", "      " + hash + "\n", "", "line 4: tenants[0].keys has no value, expected at least one key"},
		{"a key of two tenants", "providers:", "  - name: b\n    keys:\n      " + hash + "\nproviders:", `line 8: tenant "b": key 1: the same key belongs to tenant "search" already`},

		{"a key with a tag", hash, "- key_env: !!float sk-secret", "line 5: tenants[0].keys[0].key_env: tags of YAML (!) are not supported: write the value alone"},
		{"a name with a tag", "name: search", "name: !!int secret", "line 3: tenants[0].name: tags of YAML"},
		{"a name of bytes", "name: search", "name: !!binary '-secret'", "tags of YAML (!) are not supported"},

		// References.
		{"an unknown provider of a fallback", "    targets:", "    fallback: [{provider: vendor, model: x}]\n    targets:", `line 12: model "small": fallback 1: unknown provider "vendor", known: cluster`},
		{"a provider that is the gateway", "http://127.0.0.1:8000", "http://127.0.0.1:8080", "line 9: " + `provider "cluster": endpoint 1: is the gateway itself: requests would go round in a circle`},
		{"all weights zero", "model: tiny", "model: tiny, weight: 0", `line 12: model "small": no target with a weight above zero`},
		{"a name twice", "models:\n", "models:\n  - {alias: small, targets: [{provider: cluster, model: x}]}\n", `line 12: models: alias "small" appears twice`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.check(t, minimal) })
	}
}

// What is no configuration at all is told in one line, too, and is not taken for
// one with mistakes.
func TestFilesThatAreNoConfigurations(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("%c: &%[1]c [%s]\n", 'b'+i, strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 9))
	}
	for _, test := range []struct{ name, text, want string }{
		{"UTF-16", "\xff\xfel\x00i\x00", "is UTF-16, expected YAML or JSON in UTF-8: save it as UTF-8"},
		{"gzip", "\x1f\x8b\x08\x00", "is compressed by gzip, expected YAML or JSON in UTF-8: unpack it first"},
		{"a program", "MZ\x90\x00\x03", "is no text, expected YAML or JSON in UTF-8"},
		{"a text with zeros", "listen: a\x00b", "is no text, expected YAML or JSON in UTF-8"},
		{"a web page", "<html><body>404</body></html>", "line 1: expected a mapping with keys (admin, "},
		{"a bomb of aliases", bomb, `line 1: unknown key "a", known here: admin, `},
		{"a bomb of aliases in a known place", strings.Replace(bomb, "a: &a", "listen: &a", 1), "line 1: anchors and aliases are not supported: write the value out where it is needed"},
		{"depth", strings.Repeat("[", 20_000), "lists and mappings lie too deep within each other"},
		{"JSON without a comma", "{\n  \"listen\": \"127.0.0.1:8080\"\n  \"tenants\": []\n}", "line 3: JSON: invalid character '\"' after object key:value pair"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.text))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) && !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// A byte-order mark and the line ends of Windows are no mistakes.
func TestFilesOfOtherEditorsAreTaken(t *testing.T) {
	for name, text := range map[string]string{
		"byte-order mark": "\ufeff" + minimal,
		"CRLF":            strings.ReplaceAll(minimal, "\n", "\r\n"),
	} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A filter may look for what would be a variable elsewhere.
func TestFiltersMayHoldWhatLooksLikeVariables(t *testing.T) {
	const filters = "filters: [{name: a, kind: keyword, words: ['${HOME}']}, {name: b, kind: regex, pattern: '[$][{]x${HOME}', message: 'no ${X}'}]\n"
	if _, err := Parse([]byte(minimal + filters)); err != nil {
		t.Error(err)
	}
}

// Every number says what it may be.
func TestEveryNumberHasARange(t *testing.T) {
	seen := 0
	var visit func(reflect.Type)
	visit = func(at reflect.Type) {
		for at.Kind() == reflect.Slice || at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return
		}
		for i := range at.NumField() {
			f := at.Field(i)
			switch elem(f.Type).Kind() {
			case reflect.Int, reflect.Int64, reflect.Float64:
				s, ok := spanOf(f)
				if !ok || s.least >= s.most {
					t.Errorf("%s.%s has no range: %v", at.Name(), f.Name, s)
				}
				seen++
			}
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[Config]())
	if seen < 40 {
		t.Errorf("only %d numbers were looked at", seen)
	}
}

func TestCapabilitiesThatAreMeant(t *testing.T) {
	for word, want := range map[string]string{
		"tools": "", "vision": "", "json_schema": "", "german": "", "translation": "",
		"tool": "tools", "vison": "vision", "function_calling": "tools", "images": "vision", "json-schema": "json_schema", "embedding": "embeddings",
	} {
		if got := meantCapability(word); got != want {
			t.Errorf("%q is taken for %q, want %q", word, got, want)
		}
	}
}

func TestUnknownKeysThatMayBeSecretsAreNotQuoted(t *testing.T) {
	for _, text := range []string{"sk-live-1234: x\n", "root:x:0:0 secret: 1\n"} {
		_, err := Parse([]byte(text))
		if err == nil || strings.Contains(err.Error(), "sk-live") || strings.Contains(err.Error(), "root") {
			t.Errorf("error %v", err)
		}
	}
}
