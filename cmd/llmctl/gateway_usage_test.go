package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ask runs llmctl gateway usage on a configuration.
func askUsage(t *testing.T, config string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"gateway", "usage", "--config", config}, args...)...)
	cmd.Env = ownEnvironment(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// What a gateway metered can be asked for while it runs and when it has ended, and
// is there when it starts again.
func TestUsageOutlivesTheGateway(t *testing.T) {
	endpoint, release := pausing(t)
	release()
	store := "sqlite:" + filepath.Join(t.TempDir(), "usage.db")
	text := strings.Replace(gatewayFile(endpoint, "small", ""), "usage: none", "usage: "+store, 1)
	text = strings.Replace(text, "model: m }", "model: m, usd_per_1m: { input: 1, output: 2 } }", 1)
	g := startGateway(t, text)
	if status := g.status("small"); status != 200 {
		t.Fatalf("status %d", status)
	}
	// The admin listener flushes before it answers.
	if status, body := g.get(g.admin + "/admin/usage"); status != 200 || !strings.Contains(body, `"requests": 1`) {
		t.Errorf("status %d: %s", status, body)
	}
	var document struct {
		Groups []struct {
			Tenant, Alias string
			Requests      int
			USD           json.Number
		}
	}
	if err := json.Unmarshal([]byte(askUsage(t, g.path, "-o", "json")), &document); err != nil || len(document.Groups) != 1 {
		t.Fatalf("%+v, error %v", document, err)
	}
	if d := document.Groups[0]; d.Tenant != "search" || d.Alias != "small" || d.Requests != 1 || d.USD != "0.000003" {
		t.Errorf("while it runs: %+v", d)
	}
	g.status("small")
	g.signal(syscall.SIGTERM)
	g.end()
	for _, test := range []struct{ args, want string }{
		{"--by deployment", "p/m                2      2       2\n"},
		{"--by deployment", "p/m         0.000006     1.00      2.00\n"},
		{"--by request -o csv --where arm=stable", ",search,key-1,small,p,m,stable,"},
		{"--by arm -o yaml", "- arm: stable\n    requests: 2\n"},
		{"--by arm -o csv --where tenant=nobody", "arm,requests,ok_requests"},
	} {
		if got := askUsage(t, g.path, strings.Fields(test.args)...); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\nlacks %q", test.args, got, test.want)
		}
	}
	again := startGateway(t, text)
	if _, body := again.get(again.admin + "/admin/usage"); !strings.Contains(body, `"requests": 2`) {
		t.Errorf("after a new start: %s", body)
	}
}

// Without a word about it, usage goes to the user's state folder.
func TestUsageGoesToTheStateFolder(t *testing.T) {
	for _, test := range []struct {
		name, state, home, want string
	}{
		{"home", "", "/home/a", "sqlite:/home/a/.local/state/llmctl/usage.db"},
		{"state folder", "/var/state", "/home/a", "sqlite:/var/state/llmctl/usage.db"},
		{"a relative state folder is ignored", "state", "/home/a", "sqlite:/home/a/.local/state/llmctl/usage.db"},
		{"neither", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := stackConfig("http://127.0.0.1:1", "m", "sk-key")
			c.Store.Usage = ""
			got, err := usageStore(c, func(name string) string {
				return map[string]string{"XDG_STATE_HOME": test.state, "HOME": test.home}[name]
			})
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%q, error %v; want %q", got, err, test.want)
			}
		})
	}
}
