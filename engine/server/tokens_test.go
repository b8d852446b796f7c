package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/engine/sched"
)

// Prompts beyond the window are counted, and not answered.
func TestTokenizeCountsWhatIsBeyondTheWindow(t *testing.T) {
	f := serve(t, engine.Config{Sched: sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 16, MaxModelLen: 16}}, Options{})
	text, err := json.Marshal(strings.Repeat(" moon", 5000))
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"prompt":` + string(text) + `}`, `{"messages":[{"role":"user","content":` + string(text) + `}]}`} {
		status, _, answer := f.post("/tokenize", body)
		got := decode[struct {
			Count  int `json:"count"`
			Window int `json:"max_model_len"`
		}](t, answer)
		if status != 200 || got.Count < 5000 || got.Window != 16 {
			t.Errorf("status %d, %+v, want at least 5000 tokens and a window of 16", status, got)
		}
	}
	if status, _, _ := f.post("/v1/completions", `{"prompt":`+string(text)+`}`); status != 400 {
		t.Errorf("status %d for an answer to it, want 400", status)
	}
}

// A model whose template knows no tools says so to chats with tools in their past.
func TestToolTurnsOfATemplateWithoutTools(t *testing.T) {
	template, err := chat.ParseTemplate(`{% for m in messages %}{{ m.content }}{% endfor %}`)
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, engine.Config{}, Options{Template: template})
	for _, c := range []struct{ name, turn string }{
		{"a call", `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"an answer", `{"role":"tool","tool_call_id":"1","content":"b"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := f.post("/v1/chat/completions", `{"messages":[{"role":"user","content":"a"},`+c.turn+`]}`)
			want := "messages[1] is of a tool, and this model's chat template knows no tools: start the server with a --chat-template that does, and --tool-call-parser"
			if status != 400 || !strings.Contains(body, want) {
				t.Errorf("status %d, %s, want 400 and %s", status, body, want)
			}
		})
	}
}
