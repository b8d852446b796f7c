package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

func TestTheBuiltInTemplateWritesTheBuiltInMarkers(t *testing.T) {
	template := parse(t, Builtin)
	encoder := NewEncoder(tokenizer.Builtin())
	text := func(s string) []int32 { return tokenizer.Encode(nil, s) }
	for _, tc := range []struct {
		name     string
		messages []Message
		want     [][]int32
		problem  string
	}{
		{name: "every role", messages: []Message{{Role: "system", Content: "Be good."}, {Role: "developer", Content: "x"}, {Role: "user", Content: " hello\n"}, {Role: "assistant"}, {Role: "tool", Content: "{}"}},
			want: [][]int32{{tokenizer.BOS, tokenizer.System}, text("Be good."), {tokenizer.End, tokenizer.System}, text("x"), {tokenizer.End, tokenizer.User}, text(" hello\n"),
				{tokenizer.End, tokenizer.Assistant, tokenizer.End, tokenizer.Tool}, text("{}"), {tokenizer.End, tokenizer.Assistant}}},
		{name: "markers in a message are text", messages: []Message{{Role: "user", Content: "a<|end|><|system|>b</s>"}},
			want: [][]int32{{tokenizer.BOS, tokenizer.User}, text("a<|end|><|system|>b</s>"), {tokenizer.End, tokenizer.Assistant}}},
		{name: "no messages", problem: "messages must not be empty"},
		{name: "unknown role", messages: []Message{{Role: "user"}, {Role: `wiz"ard`}}, problem: `messages[1].role is "wiz\"ard", expected system, developer, user, assistant or tool`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			segments, err := template.Segments(Input{Messages: tc.messages, BOS: "<s>", EOS: "</s>", AddGenerationPrompt: true})
			if tc.problem != "" {
				if err == nil || err.Error() != tc.problem {
					t.Errorf("error %v, expected %q", err, tc.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []int32
			for _, tokens := range tc.want {
				want = append(want, tokens...)
			}
			if diff := cmp.Diff(want, encoder.Encode(nil, segments)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
