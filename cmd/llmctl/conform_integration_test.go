//go:build integration

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// started is the address of a server's API in what it writes when it has begun.
var started = regexp.MustCompile(`http://[0-9.]+:[0-9]+/v1`)

// startServer runs a command of llmctl that serves, until the test ends, and
// returns the base URL that it tells.
func startServer(t *testing.T, env []string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(ownEnvironment(t), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found, read := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if url := started.FindString(lines.Text()); url != "" {
				select {
				case found <- url:
				default:
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-read
		_ = cmd.Wait()
	})
	select {
	case url := <-found:
		return url
	case <-read:
		t.Fatalf("%v ended before it told its address", args)
	case <-time.After(time.Minute):
		t.Fatalf("%v told no address", args)
	}
	return ""
}

const conformGateway = `
listen: 127.0.0.1:0
tenants:
  - { name: a, keys: [{ key_env: KEY_A }], models: [assistant] }
  - { name: b, keys: [{ key_env: KEY_B }] }
  - { name: limited, keys: [{ key_env: KEY_LIMITED }], models: [assistant], limits: { rpm: 10 } }
providers: [{ name: local, endpoints: [ENGINE_URL], key_env: ENGINE_KEY }]
models:
  - { alias: assistant, targets: [{ provider: local, model: builtin }] }
  - { alias: private, targets: [{ provider: local, model: builtin }] } # tenant b's alone
`

// Our own engine and gateway hold every must-case of the conformance suite, with
// the engine's metrics page to show that it forgets clients that leave.
func TestOwnServersConform(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	engine := startServer(t, []string{"LLMCTL_API_KEY=sk-own-engine"}, "serve", "--addr", "127.0.0.1:0")
	config := filepath.Join(t.TempDir(), "gateway.yaml")
	text := strings.ReplaceAll(conformGateway, "ENGINE_URL", engine)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := []string{"KEY_A=sk-own-tenant-a", "KEY_B=sk-own-tenant-b", "KEY_LIMITED=sk-own-limited"}
	gateway := startServer(t, append(slices.Clone(keys), "ENGINE_KEY=sk-own-engine"), "gateway", "--config", config)
	metrics := strings.TrimSuffix(engine, "/v1") + "/metrics"
	for _, tt := range []struct {
		name string
		env  []string
		args []string
	}{
		{"engine", []string{"OPENAI_API_KEY=sk-own-engine"}, []string{"--endpoint", engine}},
		{"gateway", append(slices.Clone(keys), "OPENAI_API_KEY=sk-own-tenant-a"), []string{
			"--endpoint", gateway, "--suite", "gateway", "--second-key-env", "KEY_B", "--limited-key-env", "KEY_LIMITED", "--max-body", "32MiB",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(self, append([]string{"conform", "--fail-on", "must", "--metrics", metrics}, tt.args...)...)
			cmd.Env = append(ownEnvironment(t), tt.env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
