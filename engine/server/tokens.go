package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// encode turns a prompt into tokens, with those that begin a sequence unless special
// is false. Token numbers are taken as they are. A text that cannot fit, whatever its
// tokens, is refused before it is read.
func (s *server) encode(p openai.Prompt, special bool, param string) ([]int32, *problem) {
	if p.Tokens != nil {
		for _, t := range p.Tokens {
			if !s.known(t) {
				return nil, wrong(param, "token %d is out of vocabulary, expected 0 to %d", t, s.Tokenizer.Size()-1)
			}
		}
		return p.Tokens, nil
	}
	if p := s.fits(len(p.Text), param); p != nil {
		return nil, p
	}
	return s.textTokens(p.Text, special), nil
}

// textTokens are those of a text, whether or not they fit the window.
func (s *server) textTokens(text string, special bool) (tokens []int32) {
	if special {
		tokens = append(tokens, s.Tokenizer.Begin()...)
	}
	return s.Tokenizer.Encode(tokens, text, false)
}

// fits refuses a text whose bytes are too many for the window, however long its
// tokens are.
func (s *server) fits(bytes int, param string) *problem {
	if least := bytes / s.longest; least >= s.engine.Window() {
		return tooLong(s.engine.Window(), "at least ", least, param)
	}
	return nil
}

// longestToken is the bytes of the longest one.
func longestToken(t tokenizer.Tokenizer) int {
	longest := 1
	for token := range int32(t.Size()) {
		longest = max(longest, len(t.Bytes(token)), len(t.Name(token)))
	}
	return longest
}

// decodeTokens is the text of tokens, special ones left out.
func (s *server) decodeTokens(tokens []int32) string {
	var text strings.Builder
	decoder := s.Tokenizer.Decoder(true)
	for _, t := range tokens {
		text.WriteString(decoder.Push(t))
	}
	text.WriteString(decoder.Flush())
	return text.String()
}

// tokenize is vLLM's POST /tokenize, for a prompt or a chat. What is beyond the window is
// counted, too: clients ask by how much.
func (s *server) tokenize(w http.ResponseWriter, r *http.Request) {
	body := struct {
		openai.Conversation
		Model         string  `json:"model"`
		Prompt        *string `json:"prompt"`
		ReturnStrings bool    `json:"return_token_strs"`
	}{}
	if !s.decode(w, r, &body) {
		return
	}
	if p := s.named(body.Model); p != nil {
		p.write(w)
		return
	}
	var tokens []int32
	var p *problem
	switch special := body.AddSpecialTokens; {
	case body.Prompt != nil:
		tokens = s.textTokens(*body.Prompt, special == nil || *special)
	case body.Messages == nil:
		p = wrong("prompt", "prompt or messages is needed")
	default:
		var segments []chat.Segment
		if segments, p = s.render(&body.Conversation); p == nil {
			tokens = s.tokensOf(&body.Conversation, segments)
		}
	}
	if p != nil {
		p.write(w)
		return
	}
	answer := struct {
		Count       int      `json:"count"`
		MaxModelLen int      `json:"max_model_len"`
		Tokens      []int32  `json:"tokens"`
		Strings     []string `json:"token_strs,omitempty"`
	}{Count: len(tokens), MaxModelLen: s.engine.Window(), Tokens: append([]int32{}, tokens...)}
	if body.ReturnStrings {
		for _, t := range tokens {
			answer.Strings = append(answer.Strings, s.Tokenizer.Name(t))
		}
	}
	reply(w, answer)
}

// detokenize is vLLM's POST /detokenize.
func (s *server) detokenize(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Model  string  `json:"model"`
		Tokens []int32 `json:"tokens"`
	}{}
	if !s.decode(w, r, &body) {
		return
	}
	if p := s.named(body.Model); p != nil {
		p.write(w)
		return
	}
	if body.Tokens == nil {
		wrong("tokens", "tokens is missing").write(w)
		return
	}
	if _, p := s.encode(openai.Prompt{Tokens: body.Tokens}, false, "tokens"); p != nil {
		p.write(w)
		return
	}
	reply(w, struct {
		Prompt string `json:"prompt"`
	}{s.decodeTokens(body.Tokens)})
}

// named refuses a model that is not served. Without a name it is the one that is.
func (s *server) named(model string) *problem {
	if model == "" {
		return nil
	}
	for _, name := range s.ServedModelNames {
		if name == model {
			return nil
		}
	}
	return modelNotFound(model)
}

// promptsOf turns a completion's prompts into tokens.
func (s *server) promptsOf(body *openai.CompletionRequest) ([]prompt, *problem) {
	if body.Prompt == nil {
		return nil, wrong("prompt", "prompt is missing")
	}
	n := 1
	if body.N != nil {
		n = max(*body.N, 1) // sampling has checked it
	}
	if len(body.Prompt) > maxAnswers/n {
		return nil, wrong("prompt", "%d prompts with %d answers each, at most %d answers are given at once", len(body.Prompt), n, maxAnswers)
	}
	special := body.AddSpecialTokens == nil || *body.AddSpecialTokens
	prompts := make([]prompt, len(body.Prompt))
	for i, given := range body.Prompt {
		tokens, p := s.encode(given, special, "prompt")
		if p != nil {
			return nil, p
		}
		if len(tokens) == 0 {
			return nil, wrong("prompt", "%s must have at least 1 token", at("prompt", i, len(prompts)))
		}
		prompts[i].tokens = cut(tokens, body.TruncatePromptTokens)
		if body.Echo {
			if prompts[i].echo = given.Text; given.Tokens != nil || len(prompts[i].tokens) < len(tokens) {
				prompts[i].echo = s.decodeTokens(prompts[i].tokens)
			}
		}
	}
	return prompts, nil
}

func at(name string, i, of int) string {
	if of == 1 {
		return name
	}
	return fmt.Sprintf("%s[%d]", name, i)
}

// cut keeps the last tokens of a prompt, as truncate_prompt_tokens asks; −1 keeps what
// fits, which the window decides.
func cut(tokens []int32, keep *int) []int32 {
	if keep == nil || *keep < 1 || *keep >= len(tokens) {
		return tokens
	}
	return tokens[len(tokens)-*keep:]
}
