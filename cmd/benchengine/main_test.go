package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPage(t *testing.T) {
	row := func(engine string, repeat int, single, many float64, start time.Duration) *measurement {
		return &measurement{
			engine: engine, repeat: repeat, single: single, start: start, alike: repeat == 0, idle: 90 << 20, loaded: 200 << 20,
			cold: crowd{output: many, total: 5 * many, first: time.Second}, warm: crowd{output: 2 * many, first: time.Second, cached: 16 * 272},
		}
	}
	r := results{
		options: options{
			llmctl: "/a/llmctl", llama: "/b/llama-server", model: "/c/m.gguf", threads: 2, repeats: 3,
			load: traffic{streams: 16, prefix: 512, own: 32, output: 128, single: 16},
		},
		machine: "a machine", busy: 3, versions: map[string]string{"llmctl": "1", "llama.cpp": "2"},
		weights: weights{matrices: 92_000_000, perToken: 100_000}, bandwidth: 20e9,
		rows: []*measurement{
			row("llmctl", 0, 90, 300, 1500*time.Millisecond), row("llama.cpp", 0, 100, 150, time.Second),
			row("llama.cpp", 1, 100, 200, time.Second), row("llmctl", 1, 70, 200, 1200*time.Millisecond),
			row("llmctl", 2, 85, 0, 900*time.Millisecond), {engine: "llama.cpp", repeat: 2, err: errors.New("no answer")},
		},
		parts: []part{{schedulerStep, map[string]float64{"ns/op": 8000}}},
	}
	page := r.page()
	for _, want := range []string{
		"| one stream, output tokens/s ÷ llama.cpp's | ≥ 0.8 × | 0.80 | 0.90, 0.70, – | held |",
		"| many streams, prefix new, tokens/s ÷ llama.cpp's | ≥ 1.5 × | 1.50 | 2.00, 1.00, – | held |",
		"| start to the first 200 of /health | ≤ 1.0 s | 1.20 | 1.50, 1.20, 0.90 | NOT held |",
		"| a step of the scheduler, 256 running and 1,000 waiting | ≤ 20.0 µs | 8.00 |  | held |",
		"| llmctl | 85.0 | 200.0 (1000) | 1.00 | 400.0 (0) | 1.00 | 50 % | 1 of 3 |",
		"roof of 200 tokens/s", "| llama.cpp | 10.0 | 50 % |", // 92 MB and 80 tokens of 100 kB
		"Turn 3 of llama.cpp failed: no answer.", "Not to be relied on",
		"`llama-server --model m.gguf --alias bench --host HOST --port PORT --threads 2 --parallel 16 --ctx-size 12288",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestABarIsNotHeldByWhatWasNotMeasured(t *testing.T) {
	for _, bar := range bars {
		if v := median(nil); bar.held(v) {
			t.Errorf("%s is held by %v", bar.name, v)
		}
	}
}

func TestAnswerIsReadFromTheStream(t *testing.T) {
	const text = ": a comment\n\ndata: {\"choices\":[{\"text\":\"a \"}]}\n\ndata: {\"choices\":[{\"text\":\"b\"}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\ndata: [DONE]\n\n"
	a := answer{sent: time.Now()}
	if err := a.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if a.text != "a b" || a.prompt != 7 || a.output != 2 || a.cached != 4 || a.first <= 0 || a.last < a.first {
		t.Errorf("read %+v", a)
	}
	for _, broken := range []string{"data: {\n", "data: {\"error\":{\"message\":\"no\"}}\n"} {
		if err := new(answer).read(strings.NewReader(broken)); err == nil {
			t.Errorf("%q is taken", broken)
		}
	}
}

func TestPromptsShareTheirPrefixAndRepeat(t *testing.T) {
	make2 := func(repeat int) [][]int32 {
		p := newPrompts(repeat)
		return p.sharing(p.tokens(5), 2, 3)
	}
	a := make2(1)
	if diff := cmp.Diff(a, make2(1)); diff != "" {
		t.Errorf("prompts of one repeat (-first +second):\n%s", diff)
	}
	if !cmp.Equal(a[0][:5], a[1][:5]) || cmp.Equal(a[0][5:], a[1][5:]) || len(a[0]) != 8 || cmp.Equal(a, make2(2)) {
		t.Errorf("prompts are %v", a)
	}
}

func TestBenchmarksAreRead(t *testing.T) {
	const text = "goos: linux\nBenchmarkStep/fcfs-2   \t  133\t  9012 ns/op\t 256.0 running\nBenchmarkMultiply/Q4_1/rows=1-2 10 5.5 ns/op 12.25 GB/s\nPASS\n"
	want := []part{
		{"BenchmarkStep/fcfs", map[string]float64{"ns/op": 9012, "running": 256}},
		{"BenchmarkMultiply/Q4_1/rows=1", map[string]float64{"ns/op": 5.5, "GB/s": 12.25}},
	}
	if diff := cmp.Diff(want, readParts(text, 2), cmp.AllowUnexported(part{})); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestBadCommandLines(t *testing.T) {
	for _, args := range [][]string{{}, {"-model", "m.gguf", "x"}, {"-model", "m.gguf", "-repeats", "0"}, {"-model", "m.gguf", "-output", "1"}, {"-model", "m.gguf", "-streams", "a"}} {
		if _, err := parse(io.Discard, args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
