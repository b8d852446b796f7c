package request_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/request"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

func TestBody(t *testing.T) {
	plain := profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Closed, Concurrency: 1},
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 5},
		Output:  profiles.Distribution{Kind: profiles.Fixed, Mean: 7},
	}
	shared := plain
	shared.Prefix = profiles.Prefix{Groups: 1, Tokens: 3}
	shared.Tenants = 1
	tests := []struct {
		name      string
		workload  profiles.Workload
		api       client.API
		ignoreEOS bool
		usage     bool
		each      bool
		want      string
	}{
		{"chat", plain, client.Chat, false, true, false,
			`{"model":"m","messages":[{"role":"user","content":"w w w w w"}],"max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`},
		{"usage of each event", plain, client.Completions, false, true, true,
			`{"model":"m","prompt":"w w w w w","max_tokens":7,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`},
		{"usage of each event, refused", plain, client.Completions, false, false, true,
			`{"model":"m","prompt":"w w w w w","max_tokens":7,"stream":true}`},
		{"chat with a shared prefix", shared, client.Chat, false, true, false,
			`{"model":"m","messages":[{"role":"system","content":"w w w"},{"role":"user","content":"w w"}],"max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"user":"tenant-1"}`},
		{"completions", shared, client.Completions, false, true, false,
			`{"model":"m","prompt":"w w w w w","max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"user":"tenant-1"}`},
		{"exact length, without usage", plain, client.Completions, true, false, false,
			`{"model":"m","prompt":"w w w w w","max_tokens":7,"stream":true,"ignore_eos":true,"min_tokens":7}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := workload.New(tt.workload, workload.Options{Words: []string{"w"}})
			if err != nil {
				t.Fatal(err)
			}
			w := &request.Writer{Model: "m", API: tt.api, Exact: tt.ignoreEOS, Continuous: tt.each, Stream: s}
			if diff := cmp.Diff(tt.want, string(w.Write(s.Session(0), 0, nil, tt.usage))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}
