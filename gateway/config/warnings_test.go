package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	const admin = "admin.listen: none, so there are no metrics, no usage and no reload over HTTP"
	tests := []struct {
		name     string
		old, new string // replaced in minimal
		want     []string
	}{
		{"nothing but what is needed", "listen", "listen", []string{admin}},
		{"no token", "tenants:", "admin: {listen: '127.0.0.1:8081'}\ntenants:", []string{"admin.token_env: none, so whoever is on this machine sees metrics and usage, and nobody can reload over HTTP"}},
		{"a token", "tenants:", "admin: {listen: '127.0.0.1:8081', token_env: T}\ntenants:", nil},
		{"an address that others reach", "127.0.0.1:8080", "0.0.0.0:8080", []string{"tls: none, so keys and prompts reach 0.0.0.0:8080 in the clear unless something in front ends TLS", admin}},
		{"limits of one gateway that others reach", "127.0.0.1:8080\ntenants:\n  - name: search", "0.0.0.0:8080\ntls: {cert: a, key: b}\ntenants:\n  - name: search\n    limits: {rpm: 5}",
			[]string{admin, "limits are per instance: store.limits is memory, so n gateways allow n times each limit; a redis:// URL shares them"}},
		{"limits that are shared", "127.0.0.1:8080\ntenants:\n  - name: search", "0.0.0.0:8080\ntls: {cert: a, key: b}\nstore: {limits: redis://h}\ntenants:\n  - name: search\n    limits: {rpm: 5}",
			[]string{admin}},
		{"no usage", "tenants:", "store: {usage: none}\ntenants:", []string{admin, "store.usage: none, so usage is not kept"}},
		{"budgets of what costs nothing", "tenants:\n  - name: search", "store: {usage: none}\ntenants:\n  - name: search\n    limits: {usd_per_day: 5}",
			[]string{admin, "store.usage: none, so usage is not kept", "budgets in $ begin anew at each start, since store.usage is none",
				`tenant "search": budgets in $ do not count in full what goes to cluster/tiny (small): give usd_per_1m with input and output there`}},
		{"a slip in a capability", "model: tiny", "model: tiny, capabilities: [vison, german]", []string{admin, `model "small": tiny of cluster: no request asks for the capability "vison" unless a header names it, did you mean "vision"?`}},
		{"things without use", "tenants:", "flags: [{name: f}]\nfilters: [{name: x, kind: keyword, words: [a]}]\ntenants:",
			[]string{admin, `flag "f" is used by no target`, `filter "x" is used by no model`}},
		{"a picker that others reach", "tenants:", "picker: {listen: '0.0.0.0:9002', provider: cluster}\ntenants:",
			[]string{"picker.tls.client_ca: none, so whoever reaches 0.0.0.0:9002 can take up the room at the endpoints of cluster", admin}},
		{"a provider for the picker alone", "models:", "  - {name: other, endpoints: [http://10.0.0.1:8000]}\npicker: {listen: '127.0.0.1:9002', provider: other}\nmodels:", []string{admin}},
		{"a provider without use", "models:", "  - {name: other, endpoints: [http://10.0.0.1:8000], key_env: K}\nmodels:",
			[]string{admin, `provider "other" is used by no model`, `provider "other": its key is sent over http:// in the clear`}},
		{"a queue for bad times alone", "models:", "    max_queue: 5\nmodels:",
			[]string{admin, `provider "cluster": without in_flight or shed, only requests for endpoints that are left alone for a while ever wait in its queue`}},
		{"a first token after the end", "    targets:", "    timeouts: {first_token: 11m}\n    targets:", []string{admin, `model "small": timeouts.first_token 11m0s never comes, since timeouts.total is 10m0s`}},
		{"a class without target", "model: tiny", "model: tiny, classes: [batch]", []string{admin, `model "small": no target serves the class "interactive"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(strings.Replace(minimal, test.old, test.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, c.Warnings()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A budget warns of the deployments that its tenant can spend on, once for all who
// are in the same position.
func TestBudgetsWarnOfWhatTheyDoNotCount(t *testing.T) {
	one := 1.0
	priced := Price{Input: &one, Output: &one}
	c := Config{
		Listen: "127.0.0.1:8080", Admin: Admin{Listen: "127.0.0.1:8081", TokenEnv: "T"},
		Tenants: []Tenant{
			{Name: "all", Keys: []Key{{}}, Limits: Limits{USDPerDay: 5}},
			{Name: "unlimited", Keys: []Key{{}, {Name: "ci", Limits: Limits{USDPerMonth: 5}, Models: []string{"mixed"}}}},
			{Name: "mixed", Keys: []Key{{Limits: Limits{USDPerDay: 1}}}, Limits: Limits{USDPerDay: 5}, Models: []string{"mixed", "priced"}},
			{Name: "covered", Keys: []Key{{}}, Limits: Limits{USDPerDay: 5}, Models: []string{"priced"}},
		},
		Providers: []Provider{{Name: "p", Endpoints: []string{"http://127.0.0.1:1"}}},
		Models: []Model{
			{Alias: "priced", Targets: []Target{{Provider: "p", Model: "a", USDPer1M: priced}, {Provider: "p", Model: "off", Weight: new(int)}},
				Cache: Cache{Semantic: &Semantic{Enabled: true, Provider: "p", Model: "e"}}},
			{Alias: "mixed", Targets: []Target{{Provider: "p", Model: "a", USDPer1M: priced}}, Fallback: []Target{{Provider: "p", Model: "b", USDPer1M: Price{Input: &one}}},
				Cache: Cache{Semantic: &Semantic{Enabled: true, Provider: "p", Model: "e", USDPer1M: InputPrice{Input: &one}}}},
			{Alias: "free", Targets: []Target{{Provider: "p", Model: "c"}}, Cache: Cache{Semantic: &Semantic{Provider: "p", Model: "off"}}},
		},
	}
	want := []string{
		`tenant "all": budgets in $ do not count in full what goes to p/b (mixed), p/c (free): give usd_per_1m with input and output there`,
		`key "ci" of tenant "unlimited", tenant "mixed": budgets in $ do not count in full what goes to p/b (mixed): give usd_per_1m with input and output there`,
		`tenant "all", tenant "mixed", tenant "covered": budgets in $ do not count in full embeddings by p/e (priced): give cache.semantic.usd_per_1m.input there`,
	}
	if diff := cmp.Diff(want, c.Warnings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the gateway's own code writes is checked as what people write is.
func TestConfigurationsMadeInGoAreChecked(t *testing.T) {
	half, much := -0.5, 7.0
	tests := []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"an empty list of models", func(c *Config) { c.Tenants[0].Models = []string{} }, `tenant "search": models is empty: list some, or leave it out to allow all`},
		{"a negative limit", func(c *Config) { c.Tenants[0].Limits.RPM = -1 }, "tenants[0].limits.rpm: expected a whole number from 1 to 1000G, like 600, got -1"},
		{"a negative price", func(c *Config) { c.Models[0].Targets[0].USDPer1M.Input = &half }, "models[0].targets[0].usd_per_1m.input: expected a number, 0 or 0.000001 to 1M, got -0.5"},
		{"a share above one", func(c *Config) { c.Traces.Sample = &much }, "traces.sample: expected a number from 0 to 1, got 7"},
		{"a share above one, not absent", func(c *Config) { c.Providers[0].Breaker.FailureRate = much }, "providers[0].breaker.failure_rate: expected a number above 0 to 1, got 7"},
		{"no models", func(c *Config) { c.Models = nil }, "models is empty, expected at least one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(minimal))
			if err != nil {
				t.Fatal(err)
			}
			test.edit(c)
			if err := c.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
