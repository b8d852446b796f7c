package server

import (
	"encoding/json"

	"github.com/llmctl/llmctl/internal/openai"
)

// refusedChat finds parameters of a chat that would change the answer and are
// not implemented.
func refusedChat(r *openai.ChatRequest) *problem {
	switch {
	case len(r.Functions) > 0:
		return unsupported("functions", "use tools")
	case given(r.FunctionCall):
		return unsupported("function_call", "use tool_choice")
	case r.ChatTemplate != nil:
		return &problem{message: "Chat template is passed with request, but this server takes none from clients. " +
			"Refused request with untrusted chat template.", param: "chat_template", code: "unsupported_parameter"}
	case r.Echo:
		return unsupported("echo in chats", "use /v1/completions")
	}
	return refused(&r.Generation)
}

// refusedCompletion is refusedChat for completions.
func refusedCompletion(r *openai.CompletionRequest) *problem {
	if len(r.PromptEmbeds) > 0 && string(r.PromptEmbeds) != "null" {
		return unsupported("prompt_embeds", "use prompt")
	}
	if r.Suffix != nil && *r.Suffix != "" {
		return &problem{message: "suffix is not currently supported", param: "suffix", code: "unsupported_parameter"}
	}
	return refused(&r.Generation)
}

func refused(g *openai.Generation) *problem {
	n := 1
	if g.N != nil {
		n = *g.N
	}
	switch {
	case g.UseBeamSearch:
		return unsupported("use_beam_search", "")
	case g.BestOf != nil && *g.BestOf != n:
		return unsupported("best_of other than n", "")
	case len(g.BadWords) > 0:
		return unsupported("bad_words", "use logit_bias")
	case g.AllowedTokenIDs != nil && len(g.AllowedTokenIDs) == 0:
		return wrong("allowed_token_ids", "allowed_token_ids is not None and empty!")
	case len(g.AllowedTokenIDs) > 0:
		return unsupported("allowed_token_ids", "use structured_outputs")
	case given(g.LogitsProcessors):
		return unsupported("logits_processors", "")
	case g.StreamOptions != nil && !g.Stream:
		return wrong("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	return nil
}

// given reports whether a value is there and says something.
func given(v json.RawMessage) bool {
	switch string(v) {
	case "", "null", "[]", "{}", `""`:
		return false
	}
	return true
}
