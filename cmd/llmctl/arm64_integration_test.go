//go:build integration

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSimulationOnAnotherMachine requires the same bytes of a simulation on amd64 and
// on arm64, whose compiler joins products and sums where it may. The one that this
// machine is not runs in user mode emulation.
func TestSimulationOnAnotherMachine(t *testing.T) {
	const emulator = "qemu-aarch64"
	if _, err := exec.LookPath(emulator); err != nil {
		t.Fatalf("%v: expected the emulator of Debian's package qemu-user (.ci/run installs it)", err)
	}
	native, foreign := buildFor(t, "amd64"), buildFor(t, "arm64")
	cluster := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(cluster, []byte(foreignCluster), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"one replica", []string{"--model", "llama-3.1-8b", "--rps", "20", "--replicas", "1", "--requests", "1500"}},
		{"preemptions of a small accelerator", []string{"--model", "llama-3.1-8b", "--accelerator", "rtx-4090-24gb", "--rps", "4", "--replicas", "1", "--requests", "500", "--isl", "512", "--osl", "lognormal:mean=512,p99=1500"}},
		{"experts and a window, in parallel", []string{"--model", "gpt-oss-20b", "--tp", "2", "--concurrency", "64", "--replicas", "2", "--requests", "500"}},
		{"a cluster of many settings", []string{"-f", cluster, "--requests", "800"}},
		{"a sweep", []string{"--model", "qwen3-30b-a3b", "--replicas", "1", "--requests", "200", "--sweep", "rate=1..16"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"simulate", "-o", "json", "--warmup", "0s"}, tc.args...)
			want := simulated(t, native, args...)
			got := simulated(t, emulator, append([]string{foreign}, args...)...)
			if !bytes.Equal(want, got) {
				t.Fatalf("(-amd64 +arm64):\n%s", cmp.Diff(string(want), string(got)))
			}
		})
	}
}

// foreignCluster has sums of floats in all of its parts.
const foreignCluster = `
model: llama-3.1-8b
workload:
  arrival: { process: gamma, rate: 30/s, cv: 2 }
  input:   { lognormal: { mean: 1500, p99: 8000 } }
  output:  { lognormal: { mean: 256, p99: 1000 } }
  prefix:  { groups: 8, tokens: 750, popularity: zipf(1.1) }
  session: { turns: { geometric: { mean: 3 } }, think: { exponential: { mean: 8s } } }
  cancel:  { fraction: 0.02, after: 2s }
  classes: { interactive: 0.9, batch: 0.1 }
  tenants: 20
also:
  - { class: batch, arrival: { concurrency: 8 }, input: 4k, output: 100 }
serving:
  policy: priority
  priorities: { interactive: 0, batch: 10 }
  speculative: { tokens: 4, acceptance: 0.7, draft_cost: 0.1 }
  offload: { memory: 16GB, bandwidth: 50GB/s, latency_per_block: 10us }
cluster:
  replicas: 2
  router: { policy: prefix_affinity, load_cap: 1.25 }
  gateway:
    in_flight: 64
    max_queue: 100
    limits: { rpm: 600, input_tpm: 2M, output_tpm: 600k }
    retry: { attempts: 3, budget: 0.1, backoff: 100ms }
    fallback: { ttft: 800ms, tpot: 20ms, concurrent: 100, usd_per_1m_input: 0.15, usd_per_1m_output: 0.60, when_saturated: on }
  autoscale: { metric: queue_depth, target: 4, min: 2, max: 4, start_delay: 5s }
  failures:
    - { kind: crash, replica: 0, at: 10s, for: 5s }
`

// buildFor builds llmctl for an architecture.
func buildFor(t *testing.T, arch string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "llmctl-"+arch)
	cmd := exec.Command("go", "build", "-o", out, ".")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building for %s: %v\n%s", arch, err, text)
	}
	return out
}

// simulated is what a simulation prints. Its exit code may tell of an objective that
// was missed.
func simulated(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(ownEnvironment(t), "LLMCTL_TEST_MAIN=")
	out, err := cmd.Output()
	if len(out) < 1000 {
		t.Fatalf("%s printed %q: %v", cmd, out, err)
	}
	return out
}
