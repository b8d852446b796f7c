package request

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// session is one of plain turns.
func session(turns ...workload.Turn) workload.Session {
	return workload.Session{Tenant: "tenant-1", Turns: turns}
}

// oneWord makes texts that can be written down in tests.
var oneWord = Prompts{Lengths: Lengths{words: []string{"w"}}}

func TestBody(t *testing.T) {
	plain := workload.Turn{Group: workload.NoGroup, Input: 5, Output: 7}
	shared := workload.Turn{Group: 0, Prefix: 3, Input: 5, Output: 7}
	tests := []struct {
		name    string
		turn    workload.Turn
		writer  *Writer
		without Without
		want    string
	}{
		{"chat", plain, &Writer{API: client.Chat}, Without{},
			`{"model":"m","messages":[{"role":"user","content":"6 w w w w"}],"max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"user":"tenant-1"}`},
		{"usage of each event", plain, &Writer{API: client.Completions, Continuous: true}, Without{},
			`{"model":"m","prompt":"6 w w w w","max_tokens":7,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"user":"tenant-1"}`},
		{"usage of each event, refused", plain, &Writer{API: client.Completions, Continuous: true}, Without{Usage: true},
			`{"model":"m","prompt":"6 w w w w","max_tokens":7,"stream":true,"user":"tenant-1"}`},
		{"chat with a shared prefix", shared, &Writer{API: client.Chat}, Without{},
			`{"model":"m","messages":[{"role":"system","content":"8 w w"},{"role":"user","content":"6 w"}],"max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"user":"tenant-1"}`},
		{"completions with a shared prefix", shared, &Writer{API: client.Completions}, Without{},
			`{"model":"m","prompt":"8 w w 6 w","max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"user":"tenant-1"}`},
		{"exact length, without usage", plain, &Writer{API: client.Completions, Exact: true}, Without{Usage: true},
			`{"model":"m","prompt":"6 w w w w","max_tokens":7,"stream":true,"ignore_eos":true,"min_tokens":7,"user":"tenant-1"}`},
		{"exact length, refused", plain, &Writer{API: client.Completions, Exact: true}, Without{Usage: true, Exact: true},
			`{"model":"m","prompt":"6 w w w w","max_tokens":7,"stream":true,"user":"tenant-1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.writer
			w.Model, w.Prompts = "m", oneWord
			if diff := cmp.Diff(tt.want, string(w.Write(session(tt.turn), 0, nil, tt.without))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}
