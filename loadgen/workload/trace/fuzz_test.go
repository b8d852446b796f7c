package trace_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/loadgen/workload/trace"
)

// check holds what every trace gives, whatever the file is.
func check(t *testing.T, format string, data []byte) {
	sessions, report, err := trace.Read(bytes.NewReader(data), "file", trace.Options{Format: format})
	if err != nil {
		if sessions != nil {
			t.Errorf("%d sessions with the error %v", len(sessions), err)
		}
		return
	}
	requests := 0
	for i, s := range sessions {
		if s.Index != int64(i) || s.Offset < 0 || i > 0 && s.Offset < sessions[i-1].Offset || len(s.Turns) == 0 {
			t.Fatalf("session %d of index %d at %v with %d turns", i, s.Index, s.Offset, len(s.Turns))
		}
		for _, turn := range s.Turns {
			requests++
			if turn.Input < 1 || turn.Output < 1 && turn.Body == nil || turn.Think < 0 || turn.Group != workload.NoGroup ||
				(len(turn.Hashes)-1)*workload.HashTokens >= turn.Input {
				t.Fatalf("turn %+v", turn)
			}
		}
	}
	skipped := 0
	for _, s := range append(report.Broken, report.LeftOut...) {
		skipped += s.Count
		if s.Line < 1 || s.Column < 1 || s.Reason == "" {
			t.Fatalf("skip %+v", s)
		}
	}
	if report.Requests != requests || report.Sessions != len(sessions) || skipped > report.Rows || report.Rows < len(sessions) {
		t.Fatalf("%d sessions with %d requests, report %+v", len(sessions), requests, report)
	}
}

func fuzz(f *testing.F, format string, files ...string) {
	for _, file := range files {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
		f.Add([]byte(strings.ReplaceAll(string(data), "1", "-9e99")))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, format, data) })
}

func FuzzAzure(f *testing.F)    { fuzz(f, "azure", "azure-2023.csv", "azure-2024.csv") }
func FuzzBurstGPT(f *testing.F) { fuzz(f, "burstgpt", "burstgpt-1.csv", "burstgpt-3.csv") }
func FuzzMooncake(f *testing.F) {
	fuzz(f, "mooncake", "mooncake.jsonl", "mooncake-sessions.jsonl", "bailian.jsonl")
}
func FuzzShareGPT(f *testing.F) { fuzz(f, "sharegpt", "sharegpt.json") }
func FuzzBodies(f *testing.F)   { fuzz(f, "bodies", "bodies.jsonl", "bodies-timed.jsonl") }
func FuzzDetect(f *testing.F) {
	fuzz(f, "", "azure-2024.csv", "burstgpt-3.csv", "mooncake.jsonl", "sharegpt.json", "bodies.jsonl")
}
