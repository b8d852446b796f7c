package gateway

import (
	"os"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
)

func readExample(t *testing.T, name string) []byte {
	data, err := os.ReadFile("../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestExampleConfigurations(t *testing.T) {
	everySecret := func(name string) (string, bool) { return "the secret " + name, true }
	for _, name := range []string{"gateway.yaml", "gateway-cluster.yaml"} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse(readExample(t, name))
			if err != nil {
				t.Fatal(err)
			}
			c.Store = config.Store{Usage: config.StoreNone} // whatever it is, a test opens none
			g, err := New(c, Options{LookupEnv: everySecret})
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
		})
	}
}

func TestNewNeedsTheEnvironment(t *testing.T) {
	for _, missing := range []string{"CHAT_KEY", "PROVIDER_KEY", "ADMIN_TOKEN"} {
		_, err := New(testConfig("http://127.0.0.1:1"), Options{LookupEnv: func(name string) (string, bool) {
			if name == missing {
				return "", true
			}
			return testEnv(name)
		}})
		if err == nil || !strings.Contains(err.Error(), "environment variable "+missing+" (") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	nothing := func(string) (string, bool) { return "", false }
	_, err := New(testConfig("http://127.0.0.1:1"), Options{LookupEnv: nothing})
	want := `environment variables ADMIN_TOKEN (admin.token_env), CHAT_KEY (key 1 of tenant "chat"), PROVIDER_KEY (provider "cluster") are not set`
	if err == nil || err.Error() != want {
		t.Errorf("without any: %v, want %s", err, want)
	}
	same := func(name string) (string, bool) {
		if name == "CHAT_KEY" {
			return searchKey, true
		}
		return testEnv(name)
	}
	if _, err := New(testConfig("http://127.0.0.1:1"), Options{LookupEnv: same}); err == nil || !strings.Contains(err.Error(), `belongs to tenant "search"`) {
		t.Errorf("one key for two tenants: %v", err)
	}
}
