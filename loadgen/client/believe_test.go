package client

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/reports/record"
)

// TestBelieve: counts that can not be are absent, and said to be.
func TestBelieve(t *testing.T) {
	many := func(n int) string { return strings.Repeat(c("a"), n) }
	reasoned := func(completion, reasoning string) string {
		return event(`{"choices":[],"usage":{"completion_tokens":` + completion + `,"completion_tokens_details":{"reasoning_tokens":` + reasoning + `}}}`)
	}
	for _, tt := range []struct {
		name   string
		body   string
		asked  int
		events string
		output int
		source record.TokensSource
	}{
		{"a token an event", `{"max_tokens":20}`, 20, many(20) + usage("20"), 20, record.FromUsage},
		{"many tokens an event", `{"max_tokens":100}`, 100, many(2) + usage("100"), 100, record.FromUsage},
		{"a few more than asked for", `{"max_tokens":20}`, 20, many(20) + usage("22"), 22, record.FromUsage},
		{"more than asked for", `{"max_tokens":20}`, 20, many(20) + usage("200"), 20, record.FromChunk},
		{"more than asked for, in a body of one's own", `{"messages":[],"max_completion_tokens":20}`, 0, many(20) + usage("200"), 20, record.FromChunk},
		{"more than a response may have", `{"max_output_tokens":20}`, 20, many(20) + usage("200"), 20, record.FromChunk},
		{"several choices", `{"max_tokens":20,"n":10}`, 20, many(20) + usage("200"), 200, record.FromUsage},
		{"reasoning beside what was asked for", `{"max_tokens":20}`, 20, many(20) + reasoned("220", "200"), 220, record.FromUsage},
		{"no limit", `{}`, 20, many(20) + usage("200"), 200, record.FromUsage},
		{"more than its bytes", `{}`, 0, many(1) + usage("5000"), 1, record.FromChunk},
		{"hidden reasoning has no bytes", `{}`, 0, many(1) + reasoned("5000", "4990"), 5000, record.FromUsage},
		{"a million", `{"max_tokens":20}`, 20, many(20) + usage("1000000"), 20, record.FromChunk},
		{"letter by letter", `{"max_tokens":20}`, 20, many(20) + usage("5"), 5, record.FromUsage},
		{"many events a token", `{"max_tokens":20}`, 20, many(20) + usage("3"), 20, record.FromChunk},
		{"none", `{"max_tokens":20}`, 20, many(20) + usage("0"), 20, record.FromChunk},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := newClient(t, "wire", Options{Dial: func(context.Context, string, string) (net.Conn, error) {
				return newTape(body(tt.events + done).reads()), nil
			}})
			defer client.Close()
			r := new(record.Record)
			if tt.asked > 0 {
				r.AskedOutput = record.Counted(tt.asked)
			}
			client.Do(t.Context(), Request{Body: []byte(tt.body)}, r)
			got, _ := r.Output.Value()
			if got != tt.output || r.TokensSource != tt.source || r.UsageImplausible != (tt.source == record.FromChunk) || r.Outcome != record.OK {
				t.Errorf("%s, %d tokens by %s, implausible %v; want %d by %s", r.Outcome, got, r.TokensSource, r.UsageImplausible, tt.output, tt.source)
			}
		})
	}
}
