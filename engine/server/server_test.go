package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an engine behind a real HTTP server on loopback.
type fixture struct {
	t      *testing.T
	engine *engine.Engine
	http   *httptest.Server
}

func serve(t *testing.T, c engine.Config, o Options) *fixture {
	return serveWrapped(t, c, o, func(h http.Handler) http.Handler { return h })
}

func serveWrapped(t *testing.T, c engine.Config, o Options, wrap func(http.Handler) http.Handler) *fixture {
	t.Helper()
	if c.Blocks == 0 {
		c.Blocks = 512
	}
	e, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Unix(1700000000, 0) }
	f := &fixture{t: t, engine: e, http: httptest.NewServer(wrap(New(e, o)))}
	t.Cleanup(func() { f.http.Close(); e.Close(); f.http.Client().CloseIdleConnections() })
	return f
}

func (f *fixture) post(path, body string) (int, http.Header, string) {
	f.t.Helper()
	return f.do(f.t.Context(), http.MethodPost, path, body, nil)
}

func (f *fixture) do(ctx context.Context, method, path, body string, header http.Header) (int, http.Header, string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, f.http.URL+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	answer, err := f.http.Client().Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestChat(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	status, header, body := f.post("/v1/chat/completions",
		`{"model":"builtin","messages":[{"role":"user","content":"the old moon"}],"max_tokens":7,"ignore_eos":true,"temperature":0,"unknown":{"x":1}}`)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	got := decode[openai.Completion](t, body)
	text := *got.Choices[0].Message.Content
	want := openai.Completion{
		ID: "chatcmpl-" + header.Get("X-Request-Id"), Object: "chat.completion", Created: 1700000000, Model: "builtin",
		Choices: []openai.Choice{{Message: &openai.Answer{Role: "assistant", Content: &text}, FinishReason: "length"}},
		Usage:   openai.NewUsageReport(7, 7, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(tokenizer.Encode(nil, text)); n != 7 {
		t.Errorf("%q is %d tokens, want 7", text, n)
	}
}

func TestCompletion(t *testing.T) {
	f := serve(t, engine.Config{}, Options{ServedModelNames: []string{"alias"}})
	for _, prompt := range []string{`"the old moon"`, `["the old moon"]`, fmt.Sprint(tokens("the old moon")), "[" + fmt.Sprint(tokens("the old moon")) + "]"} {
		prompt = strings.ReplaceAll(prompt, " ", map[bool]string{true: ",", false: " "}[!strings.Contains(prompt, `"`)])
		status, _, body := f.post("/v1/completions", `{"model":"alias","temperature":0,"ignore_eos":true,"prompt":`+prompt+`}`)
		if status != http.StatusOK {
			t.Fatalf("prompt %s: status %d: %s", prompt, status, body)
		}
		got := decode[openai.Completion](t, body)
		if got.Object != "text_completion" || got.Choices[0].Text == nil || got.Choices[0].Message != nil {
			t.Errorf("prompt %s: wrong shape: %s", prompt, body)
		}
		if got.Usage.PromptTokens != 4 || got.Usage.CompletionTokens != defaultCompletionTokens {
			t.Errorf("prompt %s: usage %+v, want 4 and %d", prompt, got.Usage, defaultCompletionTokens)
		}
	}
}

func tokens(text string) []int32 { return tokenizer.Encode([]int32{tokenizer.BOS}, text) }

func TestContentParts(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	usage := func(content string) int {
		_, _, body := f.post("/tokenize", `{"messages":[{"role":"user","content":`+content+`}]}`)
		return decode[struct{ Count int }](t, body).Count
	}
	if one, parts := usage(`"the\nmoon"`), usage(`[{"type":"text","text":"the"},{"type":"text","text":"moon"}]`); one != parts {
		t.Errorf("a string has %d tokens, the same text in parts %d", one, parts)
	}
}

// TestChatsThatGoOnHitTheCache: the template keeps the beginning of a
// conversation the same, and usage tells what that saved.
func TestChatsThatGoOnHitTheCache(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	system := strings.TrimSpace(strings.Repeat("the moon ", 40))
	ask := func(extra, salt string) openai.UsageReport {
		_, _, body := f.post("/v1/chat/completions", `{"max_tokens":2,"ignore_eos":true,`+salt+`"messages":[{"role":"system","content":"`+system+`"}`+extra+`]}`)
		return decode[openai.Completion](t, body).Usage
	}
	cold := ask("", "")
	if cold.PromptTokensDetails.CachedTokens != 0 || cold.PromptTokens != 84 {
		t.Fatalf("first: %+v, want 84 prompt tokens, none cached", cold)
	}
	if warm := ask(`,{"role":"user","content":"old"}`, ""); warm.PromptTokensDetails.CachedTokens != 80 || warm.PromptTokens != 87 {
		t.Errorf("longer: %+v, want 87 prompt tokens, 80 cached", warm)
	}
	if other := ask("", `"cache_salt":"tenant",`); other.PromptTokensDetails.CachedTokens != 0 {
		t.Errorf("other salt: %+v, want none cached", other)
	}
}

func TestErrors(t *testing.T) {
	f := serve(t, engine.Config{Sched: sched.Config{MaxModelLen: 100}}, Options{MaxBody: 4000})
	chat := func(rest string) string { return `{"messages":[{"role":"user","content":"the moon"}]` + rest + `}` }
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("the ", 120) + `"}]}`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		message                  string // a part of it
		param, code              string
	}{
		{"not JSON", "POST", "/v1/chat/completions", "{", 400, "not valid JSON", "", ""},
		{"empty body", "POST", "/v1/chat/completions", "", 400, "not valid JSON", "", ""},
		{"a list", "POST", "/v1/chat/completions", "[]", 400, "must be a JSON object, got array", "", ""},
		{"null", "POST", "/v1/chat/completions", "null", 400, "messages must not be empty", "messages", ""},
		{"model is a number", "POST", "/v1/chat/completions", `{"model":1}`, 400, "model must be a string, got number", "model", ""},
		{"max_tokens is text", "POST", "/v1/chat/completions", chat(`,"max_tokens":"5"`), 400, "max_tokens must be a whole number, got string", "max_tokens", ""},
		{"messages is empty", "POST", "/v1/chat/completions", `{"messages":[]}`, 400, "messages must not be empty", "messages", ""},
		{"no messages", "POST", "/v1/chat/completions", `{}`, 400, "messages must not be empty", "messages", ""},
		{"no content", "POST", "/v1/chat/completions", `{"messages":[{"role":"user"}]}`, 400, "messages[0].content is missing", "messages", ""},
		{"null content", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":null}]}`, 400, "messages[0].content is missing", "messages", ""},
		{"no prompt", "POST", "/v1/completions", `{"max_tokens":1}`, 400, "prompt is missing", "prompt", ""},
		{"null prompt", "POST", "/v1/completions", `{"prompt":null}`, 400, "prompt is missing", "prompt", ""},
		{"unknown role", "POST", "/v1/chat/completions", `{"messages":[{"role":"king","content":"x"}]}`, 400, `messages[0].role is "king"`, "messages", ""},
		{"image", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, `"image_url" is not supported`, "messages", ""},
		{"content is a number", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":5}]}`, 400, "content must be a string", "messages", ""},
		{"unknown model", "POST", "/v1/chat/completions", chat(`,"model":"gpt-4"`), 404, "The model `gpt-4` does not exist.", "model", "model_not_found"},
		{"max_tokens 0", "POST", "/v1/chat/completions", chat(`,"max_tokens":0`), 400, "max_tokens must be at least 1, got 0.", "max_tokens", ""},
		{"max_tokens negative", "POST", "/v1/chat/completions", chat(`,"max_tokens":-160`), 400, "max_tokens must be at least 1, got -160.", "max_tokens", ""},
		{"max_completion_tokens 0", "POST", "/v1/chat/completions", chat(`,"max_tokens":5,"max_completion_tokens":0`), 400, "must be at least 1, got 0.", "max_tokens", ""},
		{"prompt too long", "POST", "/v1/chat/completions", long, 400, "This model's maximum context length is 100 tokens. However, your request has 125 input tokens. Please reduce the length of the input messages.", "messages", "context_length_exceeded"},
		{"sum too long", "POST", "/v1/chat/completions", chat(`,"max_tokens":95`), 400, "'max_tokens' or 'max_completion_tokens' is too large: 95. This model's maximum context length is 100 tokens and your request has 6 input tokens (95 > 100 - 6).", "max_tokens", "context_length_exceeded"},
		{"n 0", "POST", "/v1/chat/completions", chat(`,"n":0`), 400, "n must be at least 1, got 0.", "n", ""},
		{"n negative", "POST", "/v1/chat/completions", chat(`,"n":-3`), 400, "n must be at least 1, got -3.", "n", ""},
		{"n absurd", "POST", "/v1/chat/completions", chat(`,"n":2000000000`), 400, "n must be at most 128, got 2000000000.", "n", ""},
		{"n beyond 64 bits", "POST", "/v1/chat/completions", chat(`,"n":20000000000000000000`), 400, "n must be a whole number, got number 20000000000000000000", "n", ""},
		{"tools without a parser", "POST", "/v1/chat/completions", chat(`,"tools":[{"type":"function","function":{"name":"f"}}]`), 400, "this model's chat template knows no tools", "tools", ""},
		{"tool without a name", "POST", "/v1/chat/completions", chat(`,"tools":[{}],"tool_choice":"required"`), 400, "tools[0].function.name is missing", "tools", ""},
		{"tool_choice without tools", "POST", "/v1/chat/completions", chat(`,"tool_choice":"required"`), 400, "When using `tool_choice`, `tools` must be set.", "tool_choice", ""},
		{"tool_choice of another tool", "POST", "/v1/chat/completions", chat(`,"tools":[{"function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}`), 400, "does not match any of the specified `tools`", "tools", ""},
		{"functions", "POST", "/v1/chat/completions", chat(`,"functions":[{}]`), 400, "functions is not supported by this server: use tools", "functions", "unsupported_parameter"},
		{"function_call", "POST", "/v1/chat/completions", chat(`,"function_call":"auto"`), 400, "function_call is not supported by this server: use tool_choice", "function_call", "unsupported_parameter"},
		{"unknown format", "POST", "/v1/chat/completions", chat(`,"response_format":{"type":"xml"}`), 400, `response_format.type is "xml"`, "response_format", ""},
		{"schema is missing", "POST", "/v1/chat/completions", chat(`,"response_format":{"type":"json_schema"}`), 400, "the 'json_schema' field must be provided", "response_format", ""},
		{"broken schema", "POST", "/v1/chat/completions", chat(`,"guided_json":{"type":"frog"}`), 400, "guided_json: ", "guided_json", ""},
		{"broken regex", "POST", "/v1/chat/completions", chat(`,"guided_regex":"("`), 400, "guided_regex: ", "guided_regex", ""},
		{"two constraints", "POST", "/v1/chat/completions", chat(`,"guided_regex":"a","guided_choice":["b"]`), 400, "You can only use one kind of constraints for structured outputs", "guided_choice", ""},
		{"grammar", "POST", "/v1/chat/completions", chat(`,"structured_outputs":{"grammar":"root ::= x"}`), 400, "structured_outputs is not supported", "structured_outputs", "unsupported_parameter"},
		{"structured_outputs with nothing in it", "POST", "/v1/completions", `{"prompt":"x","structured_outputs":{}}`, 400, "You must use one kind of structured outputs constraint but none are specified", "structured_outputs", ""},
		{"a choice of nothing", "POST", "/v1/completions", `{"prompt":"x","structured_outputs":{"choice":[]}}`, 400, "Choice '[]' cannot be an empty list", "structured_outputs", ""},
		{"a guided choice of nothing", "POST", "/v1/completions", `{"prompt":"x","guided_choice":[]}`, 400, "Choice '[]' cannot be an empty list", "guided_choice", ""},
		{"an empty pattern", "POST", "/v1/completions", `{"prompt":"x","guided_regex":""}`, 400, "Regex '' cannot be an empty string", "guided_regex", ""},
		{"an empty schema", "POST", "/v1/completions", `{"prompt":"x","guided_json":""}`, 400, "JSON '' cannot be an empty string", "guided_json", ""},
		{"no token allowed", "POST", "/v1/completions", `{"prompt":"x","allowed_token_ids":[]}`, 400, "allowed_token_ids is not None and empty!", "allowed_token_ids", ""},
		{"embeddings as a prompt", "POST", "/v1/completions", `{"prompt":"x","prompt_embeds":"AAAA"}`, 400, "prompt_embeds is not supported by this server: use prompt", "prompt_embeds", "unsupported_parameter"},
		{"a prompt cut to nothing", "POST", "/v1/completions", `{"prompt":"x","truncate_prompt_tokens":0}`, 400, "truncate_prompt_tokens must be an integer >= 1 or -1, got 0", "truncate_prompt_tokens", ""},
		{"a prompt cut below nothing", "POST", "/v1/chat/completions", chat(`,"truncate_prompt_tokens":-2`), 400, "truncate_prompt_tokens must be an integer >= 1 or -1, got -2", "truncate_prompt_tokens", ""},
		{"a prompt cut beyond the window", "POST", "/v1/chat/completions", chat(`,"truncate_prompt_tokens":101`), 400, "truncate_prompt_tokens value (101) is greater than max_model_len (100)", "truncate_prompt_tokens", ""},
		{"a message that is a number", "POST", "/v1/chat/completions", `{"messages":[5]}`, 400, "messages must be a list, each of whose items is an object, got number in it", "messages", ""},
		{"a stop token that is text", "POST", "/v1/completions", `{"prompt":"x","stop_token_ids":["a"]}`, 400, "stop_token_ids must be a list, each of whose items is a whole number of 32 bits, got string in it", "stop_token_ids", ""},
		{"a tool that is a number", "POST", "/v1/chat/completions", chat(`,"tools":[5],"tool_choice":"required"`), 400, "tools[0]: expected an object, got number", "tools", ""},
		{"a tool whose name is a number", "POST", "/v1/chat/completions", chat(`,"tools":[{"function":{"name":5}}],"tool_choice":"required"`), 400, "tools[0]: function.name: expected a string, got number", "tools", ""},
		{"a key in another case", "POST", "/v1/chat/completions", `{"Messages":[{"role":"user","content":"x"}]}`, 400, "messages must not be empty", "messages", ""},
		{"top_logprobs without logprobs", "POST", "/v1/chat/completions", chat(`,"top_logprobs":2`), 400, "when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs", ""},
		{"top_logprobs negative", "POST", "/v1/chat/completions", chat(`,"logprobs":true,"top_logprobs":-2`), 400, "`top_logprobs` must be a positive value or -1.", "top_logprobs", ""},
		{"top_logprobs beyond", "POST", "/v1/chat/completions", chat(`,"logprobs":true,"top_logprobs":21`), 400, "Requested sample logprobs of 21, which is greater than max allowed: 20", "top_logprobs", ""},
		{"logprobs is a number in a chat", "POST", "/v1/chat/completions", chat(`,"logprobs":5`), 400, "logprobs must be a boolean, got number", "logprobs", ""},
		{"logprobs negative", "POST", "/v1/completions", `{"prompt":"x","logprobs":-1}`, 400, "`logprobs` must be a positive value.", "logprobs", ""},
		{"logprobs beyond", "POST", "/v1/completions", `{"prompt":"x","logprobs":21}`, 400, "Requested sample logprobs of 21", "logprobs", ""},
		{"prompt_logprobs in a stream", "POST", "/v1/completions", `{"prompt":"x","prompt_logprobs":1,"stream":true}`, 400, "`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs", ""},
		{"prompt_logprobs beyond", "POST", "/v1/completions", `{"prompt":"x","prompt_logprobs":21}`, 400, "Requested prompt logprobs of 21, which is greater than max allowed: 20", "prompt_logprobs", ""},
		{"logit_bias beyond the vocabulary", "POST", "/v1/chat/completions", chat(`,"logit_bias":{"50000":1}`), 400, "token_id 50000 in logit_bias contains out-of-vocab token id", "logit_bias", ""},
		{"logit_bias of a word", "POST", "/v1/chat/completions", chat(`,"logit_bias":{"moon":1}`), 400, "Found token_id `moon` in logit_bias", "logit_bias", ""},
		{"logit_bias is a list", "POST", "/v1/chat/completions", chat(`,"logit_bias":[1]`), 400, "logit_bias must be an object, got array", "logit_bias", ""},
		{"presence penalty", "POST", "/v1/chat/completions", chat(`,"presence_penalty":2.5`), 400, "presence_penalty must be in [-2, 2], got 2.5.", "presence_penalty", ""},
		{"frequency penalty", "POST", "/v1/chat/completions", chat(`,"frequency_penalty":-2.5`), 400, "frequency_penalty must be in [-2, 2], got -2.5.", "frequency_penalty", ""},
		{"repetition penalty", "POST", "/v1/chat/completions", chat(`,"repetition_penalty":0`), 400, "repetition_penalty must be greater than zero, got 0.", "repetition_penalty", ""},
		{"best_of", "POST", "/v1/completions", `{"prompt":"x","best_of":2}`, 400, "best_of", "best_of", "unsupported_parameter"},
		{"beam search", "POST", "/v1/completions", `{"prompt":"x","use_beam_search":true}`, 400, "use_beam_search", "use_beam_search", "unsupported_parameter"},
		{"suffix", "POST", "/v1/completions", `{"prompt":"x","suffix":"y"}`, 400, "suffix is not currently supported", "suffix", "unsupported_parameter"},
		{"chat template of a client", "POST", "/v1/chat/completions", chat(`,"chat_template":"x"`), 400, "Refused request with untrusted chat template", "chat_template", "unsupported_parameter"},
		{"priority under fcfs", "POST", "/v1/chat/completions", chat(`,"priority":5`), 400, "Got priority 5 but Priority scheduling is not enabled.", "priority", ""},
		{"stop token beyond the vocabulary", "POST", "/v1/chat/completions", chat(`,"stop_token_ids":[70000]`), 400, "token 70000 is out of vocabulary", "stop_token_ids", ""},
		{"continue and generate", "POST", "/v1/chat/completions", chat(`,"continue_final_message":true,"add_generation_prompt":true`), 400, "Cannot set both `continue_final_message` and `add_generation_prompt` to True.", "continue_final_message", ""},
		{"min_tokens negative", "POST", "/v1/chat/completions", chat(`,"min_tokens":-1`), 400, "min_tokens must be greater than or equal to 0, got -1.", "min_tokens", ""},
		{"number beyond float64", "POST", "/v1/chat/completions", chat(`,"temperature":1e999`), 400, "temperature must be a number, got number 1e999", "temperature", ""},
		{"NaN as text", "POST", "/v1/chat/completions", chat(`,"top_p":"NaN"`), 400, "top_p must be a number, got string", "top_p", ""},
		{"a fraction of a token", "POST", "/v1/chat/completions", chat(`,"max_tokens":1.5`), 400, "max_tokens must be a whole number, got number 1.5", "max_tokens", ""},
		{"too many prompts", "POST", "/v1/completions", `{"n":100,"prompt":["x"` + strings.Repeat(`,"x"`, 10) + `]}`, 400, "11 prompts with 100 answers each, at most 1024", "prompt", ""},
		{"no prompts", "POST", "/v1/completions", `{"prompt":["x",[]]}`, 400, "prompt[1] must have at least 1 token", "prompt", ""},
		{"far too long", "POST", "/v1/completions", `{"prompt":"` + strings.Repeat("x", 3900) + `"}`, 400, "This model's maximum context length is 100 tokens. However, your request has at least", "prompt", "context_length_exceeded"},
		{"completion too long", "POST", "/v1/completions", `{"prompt":"` + strings.Repeat("the ", 120) + `"}`, 400, "This model's maximum context length is 100 tokens. However, your request has 122 input tokens.", "prompt", "context_length_exceeded"},
		{"nothing to detokenize", "POST", "/detokenize", "{}", 400, "tokens is missing", "tokens", ""},
		{"unknown token", "POST", "/detokenize", `{"tokens":[-1]}`, 400, "token -1 is out of vocabulary", "tokens", ""},
		{"tokenize for another model", "POST", "/tokenize", `{"model":"x","prompt":"a"}`, 404, "`x` does not exist", "model", "model_not_found"},
		{"prompt is a number", "POST", "/v1/completions", `{"prompt":5}`, 400, "prompt must be", "prompt", ""},
		{"empty token prompt", "POST", "/v1/completions", `{"prompt":[]}`, 400, "prompt must have at least 1 token", "prompt", ""},
		{"token out of vocabulary", "POST", "/v1/completions", `{"prompt":[5000]}`, 400, "token 5000 is out of vocabulary", "prompt", ""},
		{"temperature", "POST", "/v1/chat/completions", chat(`,"temperature":-1`), 400, "temperature must be non-negative, got -1.", "temperature", ""},
		{"temperature far above", "POST", "/v1/chat/completions", chat(`,"temperature":1e7`), 400, "temperature must be at most 1000000, got 1e+07.", "temperature", ""},
		{"temperature beyond float32", "POST", "/v1/chat/completions", chat(`,"temperature":1e300`), 400, "temperature must be at most 1000000, got 1e+300.", "temperature", ""},
		{"top_p 0", "POST", "/v1/chat/completions", chat(`,"top_p":0`), 400, "top_p must be in (0, 1]", "top_p", ""},
		{"top_p 2", "POST", "/v1/chat/completions", chat(`,"top_p":2`), 400, "top_p must be in (0, 1], got 2.", "top_p", ""},
		{"top_k", "POST", "/v1/chat/completions", chat(`,"top_k":-5`), 400, "top_k must be 0 (disable), or at least 1, got -5.", "top_k", ""},
		{"empty salt", "POST", "/v1/chat/completions", chat(`,"cache_salt":""`), 400, "Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt", ""},
		{"empty stop", "POST", "/v1/chat/completions", chat(`,"stop":""`), 400, "stop cannot contain an empty string.", "stop", ""},
		{"many stops", "POST", "/v1/chat/completions", chat(`,"stop":[` + strings.Repeat(`"a",`, 16) + `"a"]`), 400, "at most 16", "stop", ""},
		{"stop is a number", "POST", "/v1/chat/completions", chat(`,"stop":5`), 400, "stop must be", "stop", ""},
		{"min over max", "POST", "/v1/chat/completions", chat(`,"max_tokens":3,"min_tokens":5`), 400, "min_tokens must be less than or equal to max_tokens=3, got 5.", "min_tokens", ""},
		{"stream_options without stream", "POST", "/v1/chat/completions", chat(`,"stream_options":{}`), 400, "Stream options can only be defined when `stream=True`.", "stream_options", ""},
		{"body too large", "POST", "/v1/chat/completions", `{"x":"` + strings.Repeat("x", 5000) + `"}`, 413, "larger than the limit", "", "request_too_large"},
		{"wrong method", "GET", "/v1/chat/completions", "", 405, "use POST", "", ""},
		{"wrong method for models", "POST", "/v1/models", "", 405, "use GET", "", ""},
		{"no such path", "GET", "/v2/x", "", 404, "no such path", "", ""},
		{"no such model", "GET", "/v1/models/org/other", "", 404, "`org/other` does not exist", "model", "model_not_found"},
		{"nothing to tokenize", "POST", "/tokenize", "{}", 400, "prompt or messages is needed", "prompt", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header, body := f.do(t.Context(), c.method, c.path, c.body, nil)
			if status != c.status || header.Get("Content-Type") != "application/json" {
				t.Fatalf("status %d (%s), want %d: %s", status, header.Get("Content-Type"), c.status, body)
			}
			got := decode[struct{ Error openai.Error }](t, body).Error
			value := func(p *string) string {
				if p == nil {
					return ""
				}
				return *p
			}
			if !strings.Contains(got.Message, c.message) || value(got.Param) != c.param || value(got.Code) != c.code || got.Type != "invalid_request_error" {
				t.Errorf("got %s, want message %q, param %q, code %q", body, c.message, c.param, c.code)
			}
		})
	}
	if s := f.engine.Stats(); s.Running+s.Waiting != 0 || len(s.Finished) == 0 || s.Generated != 0 {
		t.Errorf("refused requests reached the engine: %+v", s)
	}
}

func TestHarmlessValuesAreAccepted(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	status, _, body := f.post("/v1/chat/completions", `{"messages":[{"role":"developer","content":""},{"role":"assistant","content":null},{"role":"user","content":"x"}],"max_tokens":1,"n":1,"tools":[],"logprobs":false,
		"top_logprobs":0,"logit_bias":{},"presence_penalty":0,"frequency_penalty":0,"repetition_penalty":1,"response_format":{"type":"text"},
		"stop":null,"seed":-5,"top_k":-1,"min_p":0,"user":"u","stream_options":null,"temperature":0.5,"top_p":1}`)
	if status != http.StatusOK {
		t.Errorf("status %d: %s", status, body)
	}
}

func TestAPIKey(t *testing.T) {
	f := serve(t, engine.Config{}, Options{APIKey: "secret"})
	for _, c := range []struct {
		name, path, authorization string
		status                    int
	}{
		{"right", "/v1/models", "Bearer secret", 200},
		{"scheme in lower case", "/v1/models", "bearer secret", 200},
		{"none", "/v1/models", "", 401},
		{"wrong", "/v1/models", "Bearer other", 401},
		{"empty token", "/v1/models", "Bearer ", 401},
		{"scheme alone", "/v1/models", "Bearer", 401},
		{"another scheme", "/v1/models", "Basic secret", 401},
		{"probes need none", "/health", "", 200},
		{"scrapers need none", "/metrics", "", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := f.do(t.Context(), "GET", c.path, "", http.Header{"Authorization": {c.authorization}})
			if status != c.status {
				t.Fatalf("status %d, want %d", status, c.status)
			}
			if status == 401 && (!strings.Contains(body, "invalid_api_key") || strings.Contains(body, "secret")) {
				t.Errorf("body: %s", body)
			}
		})
	}
}

func TestModelsVersionHealthTokenize(t *testing.T) {
	f := serve(t, engine.Config{Sched: sched.Config{MaxModelLen: 128}}, Options{ServedModelNames: []string{"alias"}, Version: "1.2.3"})
	for _, c := range []struct{ name, method, path, body, want string }{
		{"models", "GET", "/v1/models", "", `{"object":"list","data":[{"id":"alias","object":"model","created":1700000000,"owned_by":"llmctl","root":"builtin","parent":null,"max_model_len":128}]}`},
		{"model", "GET", "/v1/models/alias", "", `{"id":"alias","object":"model","created":1700000000,"owned_by":"llmctl","root":"builtin","parent":null,"max_model_len":128}`},
		{"version", "GET", "/version", "", `{"version":"1.2.3"}`},
		{"health", "GET", "/health", "", ``},
		{"ping", "GET", "/ping", "", ``},
		{"ping by POST", "POST", "/ping", "", ``},
		{"load", "GET", "/load", "", `{"server_load":0}`},
		{"detokenize", "POST", "/detokenize", `{"tokens":[0,322]}`, `{"prompt":"A"}`},
		{"detokenize nothing", "POST", "/detokenize", `{"tokens":[]}`, `{"prompt":""}`},
		{"tokenize", "POST", "/tokenize", `{"prompt":"A","return_token_strs":true}`, `{"count":2,"max_model_len":128,"tokens":[0,322],"token_strs":["\u003cs\u003e","A"]}`},
		{"tokenize without specials", "POST", "/tokenize", `{"prompt":"A","add_special_tokens":false}`, `{"count":1,"max_model_len":128,"tokens":[322]}`},
		{"tokenize nothing", "POST", "/tokenize", `{"prompt":"","add_special_tokens":false}`, `{"count":0,"max_model_len":128,"tokens":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := f.do(t.Context(), c.method, c.path, c.body, nil)
			if status != 200 || body != c.want {
				t.Errorf("status %d, got  %s\nwant %s", status, body, c.want)
			}
		})
	}
}

func TestRequestID(t *testing.T) {
	f := serve(t, engine.Config{}, Options{})
	for _, c := range []struct {
		sent string
		kept bool
	}{{"abc-123", true}, {"", false}, {"has space", false}, {strings.Repeat("x", 200), false}} {
		_, header, _ := f.do(t.Context(), "GET", "/health", "", http.Header{"X-Request-Id": {c.sent}})
		got := header.Get("X-Request-Id")
		if got == "" || (got == c.sent) != c.kept {
			t.Errorf("sent %q, got %q", c.sent, got)
		}
	}
}

func TestMetrics(t *testing.T) {
	f := serve(t, engine.Config{}, Options{ServedModelNames: []string{"alias"}})
	f.post("/v1/completions", `{"prompt":"the moon","max_tokens":3,"ignore_eos":true}`)
	_, _, page := f.do(t.Context(), "GET", "/metrics", "", nil)
	got := map[string]string{}
	for scan := bufio.NewScanner(strings.NewReader(page)); scan.Scan(); {
		if name, value, ok := strings.Cut(scan.Text(), "} "); ok {
			got[name+"}"] = value
		}
	}
	const labels = `engine="0",model_name="alias"`
	for name, want := range map[string]string{
		"vllm:num_requests_running{" + labels + "}":                                               "0",
		"vllm:num_requests_waiting{" + labels + "}":                                               "0",
		"vllm:kv_cache_usage_perc{" + labels + "}":                                                "0",
		"vllm:num_preemptions_total{" + labels + "}":                                              "0",
		"vllm:prefix_cache_queries_total{" + labels + "}":                                         "3",
		"vllm:prefix_cache_hits_total{" + labels + "}":                                            "0",
		"vllm:prompt_tokens_total{" + labels + "}":                                                "3",
		"vllm:generation_tokens_total{" + labels + "}":                                            "3",
		`vllm:request_success_total{` + `engine="0",finished_reason="length",model_name="alias"}`: "1",
		`vllm:request_success_total{` + `engine="0",finished_reason="abort",model_name="alias"}`:  "0",
		`vllm:cache_config_info{block_size="16",cache_dtype="auto",cpu_offload_gb="0",enable_prefix_caching="True",engine="0",gpu_memory_utilization="None",is_attention_free="False",model_name="alias",num_cpu_blocks="None",num_gpu_blocks="512",num_gpu_blocks_override="None",prefix_caching_hash_algo="sha256",sliding_window="None"}`: "1",
		"vllm:time_to_first_token_seconds_count{" + labels + "}":            "1",
		"vllm:inter_token_latency_seconds_count{" + labels + "}":            "2",
		"vllm:e2e_request_latency_seconds_count{" + labels + "}":            "1",
		"vllm:request_queue_time_seconds_count{" + labels + "}":             "1",
		"vllm:request_prefill_time_seconds_count{" + labels + "}":           "1",
		"vllm:request_decode_time_seconds_count{" + labels + "}":            "1",
		"vllm:request_prompt_tokens_sum{" + labels + "}":                    "3",
		"vllm:request_generation_tokens_sum{" + labels + "}":                "3",
		"vllm:iteration_tokens_total_sum{" + labels + "}":                   "5",
		`vllm:time_to_first_token_seconds_bucket{` + labels + `,le="2560"}`: "1",
		`vllm:inter_token_latency_seconds_bucket{` + labels + `,le="80"}`:   "2",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// Which of two keys counts differs from server to server: here neither does.
func TestTwoKeysAreRefused(t *testing.T) {
	f := serve(t, engine.Config{}, Options{APIKey: "secret"})
	for _, keys := range [][]string{{"Bearer secret", "Bearer other"}, {"Bearer other", "Bearer secret"}, {"Bearer secret", "Bearer secret"}} {
		status, header, _ := f.do(t.Context(), "GET", "/v1/models", "", http.Header{"Authorization": keys})
		if status != 401 {
			t.Errorf("%v: status %d, want 401", keys, status)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%v: header %v", keys, header)
		}
	}
}
