package gateway

import (
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
)

// What a check accepts, a start does not refuse.
func TestVerifyRefusesWhatNewWould(t *testing.T) {
	parse := func(t *testing.T, more, model string) *config.Config {
		c, err := config.Parse([]byte(`listen: 127.0.0.1:0
tenants: [{name: a, keys: [{key_env: KEY}]}]
providers: [{name: p, endpoints: [http://127.0.0.1:1]}]
models: [{alias: m, targets: [{provider: p, model: m}]` + model + `}]
` + more))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	set := func(name string) (string, bool) { return "value", true }
	unset := func(name string) (string, bool) { return "", false }
	for _, test := range []struct {
		name, more, model string
		lookup            func(string) (string, bool)
		want              string
	}{
		{"all is well", "", "", set, ""},
		{"a Redis that nobody has to reach", "store: {limits: redis://127.0.0.1:1/2}", "", set, ""},
		{"a variable that is not set", "", "", unset, `environment variable KEY (key 1 of tenant "a") is not set`},
		{"a pattern that a stream cannot be looked at for", "filters: [{name: f, kind: regex, pattern: ^a, on: both}]", ", filters: [f]", set, `model "m": filter "f": a pattern for output may not begin with ^`},
		{"parameters of a Redis that make no sense", "store: {limits: 'redis://h?db=x'}", "", set, "store.limits: the Redis URL has a database or parameters that make no sense"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := parse(t, test.more, test.model)
			err := Verify(c, test.lookup)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if test.want == "" {
				return
			}
			if g, err := New(c, Options{LookupEnv: test.lookup}); err == nil {
				g.Close()
				t.Error("New takes it")
			}
		})
	}
}
