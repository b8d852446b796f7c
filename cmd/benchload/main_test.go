package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// The readers take what the tools wrote; the files are cut down from real ones.
func TestReaders(t *testing.T) {
	tests := []struct {
		tool, file, text string
		want             samples
	}{
		{"vllm", "result.json", `{"ttfts":[0.051,0.0],"itls":[[0.01,0.012],[]],"errors":["","refused"],"burstiness": Infinity}`,
			samples{ttft: []float64{0.051}, gaps: []float64{0.01, 0.012}, failed: 1}},
		{"guidellm", "result.json", `{"benchmarks":[{"config":{"strategy":{"streams":1}},"requests":{"errored":[{}],"successful":[` +
			`{"request_start_time":2.5,"time_to_first_token_ms":52,"inter_token_latency_ms":10.5},` +
			`{"request_start_time":1.5,"time_to_first_token_ms":99,"inter_token_latency_ms":12}]}}]}`,
			samples{ttft: []float64{0.052}, means: []float64{0.0105}, failed: 1}},
		{"aiperf", "profile_export.jsonl", `{"metadata":{"benchmark_phase":"warmup"},"metrics":{"time_to_first_token":{"value":90,"unit":"ms"}}}
{"metadata":{"benchmark_phase":"profiling"},"metrics":{"time_to_first_token":{"value":51,"unit":"ms"},"inter_chunk_latency":{"value":[10,11],"unit":"ms"}}}
{"metadata":{"benchmark_phase":"profiling"},"metrics":{}}
`, samples{ttft: []float64{0.051}, gaps: []float64{0.01, 0.011}, failed: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := findTool(tt.tool).read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(samples{}), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCleanest(t *testing.T) {
	at := func(streams int, p99 float64) cell {
		return cell{measurement: measurement{load: load{streams: streams}, gapP99: p99}, n: 1}
	}
	levels := map[int]cell{1: at(1, 0.0005), 100: at(100, 0.0024), 200: at(200, 0.0026), 300: at(300, 0.001)}
	best, ok := new(results).cleanest(levels, 0.0005)
	if !ok || best.load.streams != 100 { // 300 does not count, since 200 was not clean
		t.Errorf("%d streams, %v, want 100", best.load.streams, ok)
	}
}

func TestPage(t *testing.T) {
	row := func(tool string, streams, repeat int, p99 float64) measurement {
		l := load{streams: streams, ttft: ttft, itl: itl, tokens: tokens}
		m := measurement{tool: tool, repeat: repeat, load: l, cpu: time.Second, rss: 10 << 20}
		m.take(samples{ttft: []float64{0.051}, gaps: []float64{0.010, 0.010 + p99}}, l)
		return m
	}
	r := results{
		options: options{tools: []string{"llmctl", "vllm", "aiperf"}, concurrency: []int{1, 10, 100}, repeats: 1},
		machine: "a machine", versions: map[string]string{"llmctl": "devel", "vllm": "1"}, missing: map[string]string{"aiperf": "no aiperf"}, mock: "exact\n",
		rows: []measurement{
			row("llmctl", 1, 0, 0.0001), row("vllm", 1, 0, 0.001), row("llmctl", 10, 0, 0.0002), row("vllm", 10, 0, 0.0015),
			row("llmctl", 100, 0, 0.0003), row("vllm", 100, 0, 0.009),
		},
		many: []measurement{{load: load{streams: 5000}, err: errors.New("no | files")}},
	}
	page := r.page()
	for _, want := range []string{
		"| aiperf | left out: no aiperf |", "| llmctl | 100 | 9615 |", "| vllm | 10 | 962 |", "llmctl's is 10.0 times that of the best peer", "| 5000 | no / files |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestBadCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-tools", "wrk"}, {"-concurrency", "0"}, {"-concurrency", "a"}, {"-repeats", "0"}, {"-many", "1,x"}} {
		if _, err := parse(quiet(), args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func quiet() *iostreams.IO { return &iostreams.IO{Out: io.Discard, Err: io.Discard} }
