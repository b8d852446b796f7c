package server

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// voice is an executor whose logits prefer the given tokens, one after the other, and
// then the end. Unlike script it samples as a real one does.
type voice struct {
	says    []int32
	prompt  int
	sampler model.Sampler
}

func (v *voice) Execute(sequences []*model.Sequence) error {
	for _, q := range sequences {
		first := q.Start + len(q.Tokens) - q.Places()
		for i := range q.Places() {
			logits := make([]float32, tokenizer.Size)
			if at := first + i + 1 - v.prompt; at >= 0 && at < len(v.says) {
				logits[v.says[at]] = 20
			} else {
				logits[1] = 20
			}
			if !v.sampler.Take(q, i, logits) {
				break
			}
		}
	}
	return nil
}

func (v *voice) Close() {}

func bytesOf(text string) (tokens []int32) {
	for _, b := range []byte(text) {
		tokens = append(tokens, 8+int32(b))
	}
	return tokens
}

// Two tokens that make one character share a chunk, and yet each has its entry with
// its exact byte, streamed or not.
func TestTokensThatShareAChunkHaveAnEntryEach(t *testing.T) {
	f := serve(t, engine.Config{Executor: &voice{says: bytesOf("é🙂!"), prompt: 5}}, Options{})
	const body = `"messages":[{"role":"user","content":"x"}],"logprobs":true,"temperature":0`
	_, _, text := f.post("/v1/chat/completions", "{"+body+"}")
	whole := decode[struct {
		Choices []struct{ Logprobs openai.ChatLogprobs }
	}](t, text)
	var got []int
	for _, l := range whole.Choices[0].Logprobs.Content {
		got = append(got, l.Bytes...)
	}
	want := []int{0xc3, 0xa9, 0xf0, 0x9f, 0x99, 0x82, '!'}
	if len(got) < len(want) {
		t.Fatalf("bytes %v: %s", got, text)
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" { // behind them the end's marker
		t.Error(diff)
	}
	_, _, events := f.post("/v1/chat/completions", "{"+body+`,"stream":true}`)
	s := collect(t, events)
	if len(s.tokens[0]) != len(whole.Choices[0].Logprobs.Content) || s.text[0] != "é🙂!" {
		t.Errorf("streamed %d entries with %q, whole %d", len(s.tokens[0]), s.text[0], len(whole.Choices[0].Logprobs.Content))
	}
	for _, e := range data(t, events) {
		if strings.Contains(e, `"content":"é"`) && strings.Count(e, `"bytes":`) != 2 {
			t.Errorf("the chunk of é has not two entries: %s", e)
		}
	}
}

// Whatever the model would rather say, an answer has the form that was asked for.
func TestAnswersHaveTheFormThatWasAskedFor(t *testing.T) {
	for _, c := range []struct{ name, rest, says, want string }{
		{"choice", `"structured_outputs":{"choice":["yes","no"]}`, "nope", "no"},
		{"choice, by its old name", `"guided_choice":["yes","no"]`, "ye", "yes"},
		{"regex", `"structured_outputs":{"regex":"[0-9]{3}"}`, "1x2y3", ""},
		{"schema", `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"enum":["a"]}}}`, "xx", `"a"`},
		{"schema in a string", `"guided_json":"{\"const\":7}"`, "xx", `7`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := serve(t, engine.Config{Executor: &voice{says: bytesOf(c.says), prompt: 5}}, Options{})
			status, _, body := f.post("/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"temperature":0,`+c.rest+`}`)
			if status != 200 {
				t.Fatal(body)
			}
			got := decode[openai.Completion](t, body).Choices[0]
			if c.want == "" {
				if text := *got.Message.Content; len(text) != 3 || strings.Trim(text, "0123456789") != "" {
					t.Errorf("got %q, want three digits", text)
				}
				return
			}
			if *got.Message.Content != c.want || got.FinishReason != "stop" {
				t.Errorf("got %q (%s), want %q", *got.Message.Content, got.FinishReason, c.want)
			}
		})
	}
}

// A full queue says when to come again, by the engine's own estimate.
func TestFullQueueSaysWhenToComeAgain(t *testing.T) {
	if got := retryAfter(&engine.BusyError{Reason: "busy", RetryAfter: 2500 * time.Millisecond}); got != 3 {
		t.Errorf("2.5 s are told as %d, want 3", got)
	}
	g := newTurnstile()
	f := serve(t, engine.Config{
		Executor: &script{text: strings.Repeat("x", 300), before: g.pass}, MaxQueueTokens: 8, Sched: sched.Config{MaxNumSeqs: 1},
	}, Options{})
	defer g.release()
	for i := range 2 {
		if _, err := f.engine.Submit(t.Context(), engine.Request{Tokens: []int32{0, 2, 3, 4, 5, 6}, MaxTokens: 5}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-g.arrived // it waits no more
		}
	}
	status, header, body := f.post("/v1/completions", `{"prompt":[0,2,3,4,5]}`)
	if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(body, `"code":"overloaded"`) {
		t.Errorf("status %d, Retry-After %q: %s", status, header.Get("Retry-After"), body)
	}
}
