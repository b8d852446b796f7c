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
	texts := map[string]string{"minimal": minimal}
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

func readExample(t testing.TB, name string) string {
	data, err := os.ReadFile("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	tests := []struct {
		name     string
		old, new string // replaced in minimal
		want     string
	}{
		{"unknown key with a near one", "listen:", "lisen:", `line 1: unknown key "lisen", did you mean "listen"?`},
		{"unknown key deep down", "{provider: cluster,", "{providr: cluster,", `line 12: unknown key "providr", did you mean "provider"?`},
		{"a key of the contract that does not exist yet", "    keys:", "    priority: interactive\n    keys:", `line 4: unknown key "priority"`},
		{"a fallback that does not exist yet", "    targets:", "    fallback: []\n    targets:", `line 12: unknown key "fallback", known here: alias, max_tokens, targets, timeouts`},
		{"a key twice", "listen: 127.0.0.1:8080", "listen: 127.0.0.1:8080\nlisten: 127.0.0.1:8081", `line 2: key "listen" appears twice`},
		{"no address", "listen: 127.0.0.1:8080", "listen:", "listen is missing"},
		{"address without port", "127.0.0.1:8080", "localhost", `expected an address like 127.0.0.1:8080, got "localhost"`},
		{"zero refill", "    keys:", "    limits: {rpm: 0}\n    keys:", `line 4: expected a whole number from 1, like 600 or 200k, got "0"`},
		{"negative limit", "    keys:", "    limits: {output_tpm: -5}\n    keys:", `got "-5"`},
		{"half a token", "    keys:", "    limits: {output_tpm: 0.5}\n    keys:", `got "0.5"`},
		{"a duration without unit", "    targets:", "    timeouts: {idle: 30}\n    targets:", `line 12: expected a duration above zero, like 500ms or 10m, got "30"`},
		{"a list for a value", "127.0.0.1:8080", "[a]", "line 1: expected a single value"},
		{"a value for a list", "    endpoints: [http://127.0.0.1:8000]", "    endpoints: x", "line 9: expected a list"},
		{"a value for keys", "      - hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "      - sk-secret", "line 5: expected keys (hash, key_env, limits)"},
		{"a key in place of its hash", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sk-secret", "hash: expected sha256: and 64 hexadecimal digits"},
		{"a key in place of its variable", "hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "key_env: sk-secret", "expected the name of an environment variable"},
		{"hash and key_env", "      - hash:", "      - key_env: A\n        hash:", "expected either hash or key_env"},
		{"no models", "    keys:", "    models: []\n    keys:", `tenant "search": models is empty`},
		{"no keys", "    keys:\n      - hash: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n", "", `tenant "search" has no keys`},
		{"a tenant twice", "providers:", "  - {name: search, keys: [{key_env: A}]}\nproviders:", `tenants: name "search" appears twice`},
		{"a key of two tenants", "providers:", "  - {name: b, keys: [{hash: 'sha256:E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'}]}\nproviders:", `tenant "b": key 1: the same key belongs to tenant "search" already`},
		{"a tenant with an unknown model", "    keys:", "    models: [smal]\n    keys:", `tenant "search": unknown model "smal", did you mean "small"?`},
		{"an unknown provider", "provider: cluster", "provider: clister", `model "small": unknown provider "clister", did you mean "cluster"?`},
		{"an unknown kind", "kind: openai", "kind: anthropic", `provider "cluster": unknown kind "anthropic", known: openai`},
		{"a store that does not exist yet", "tenants:", "store: {limits: redis://x}\ntenants:", "store.limits: expected memory"},
		{"no scheme", "http://127.0.0.1:8000", "127.0.0.1:8000", "expected a URL like http://10.0.0.5:8000"},
		{"a password in a URL", "http://127.0.0.1:8000", "http://u:sk-secret@h:8000", "use key_env"},
		{"a query in a URL", "[http://127.0.0.1:8000]", `["http://h:8000/?key=sk-secret"]`, "without query"},
		{"an endpoint twice", "[http://127.0.0.1:8000]", "[http://h:1, http://h:1/v1/]", "endpoint 2: appears twice"},
		{"a default above the cap", "    targets:", "    max_tokens: {default: 5, cap: 4}\n    targets:", "max_tokens.default 5 is above cap 4"},
		{"all targets off", "model: tiny", "model: tiny, weight: 0", "no target with a weight above zero"},
		{"negative weight", "model: tiny", "model: tiny, weight: -1", "weight -1 is out of range"},
		{"a weight that is no number", "model: tiny", "model: tiny, weight: x", "line 12: "},
		{"a name for the eye only", "name: search", `name: "a\u202e b"`, "printable"},
		{"an alias of YAML", "listen: 127.0.0.1:8080", "listen: &a 127.0.0.1:8080", "anchors and aliases are not supported"},
		{"a token nobody asks for", "tenants:", "admin: {token_env: A}\ntenants:", "guards nothing"},
		{"two documents", "listen:", "a: b\n---\nlisten:", "more than one YAML document"},
		{"not YAML", "listen:", "\tlisten:", "cannot start any token"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(minimal, test.old, test.new, 1)
			if text == minimal {
				t.Fatal("the test changes nothing")
			}
			_, err := Parse([]byte(text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error is more than one line or quotes a secret: %v", err)
			}
		})
	}
	if _, err := Parse(nil); err == nil {
		t.Error("an empty configuration was accepted")
	}
}

// What is accepted can be written and read again, and says the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	for _, name := range examples {
		f.Add([]byte(readExample(f, name)))
	}
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
