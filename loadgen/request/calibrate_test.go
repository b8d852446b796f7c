package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer/hf"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// server counts tokens by a rule of its own, adds those of a chat template, and
// answers every request with one token and its usage.
type server struct {
	word       func(word string, first bool) int // tokens of a word; first has no space before it
	vocabulary Tokens                            // in the place of word
	template   int                               // tokens that every prompt has
	message    int                               // tokens that every message has
	tools      int                               // tokens that offered tools have
	standard   int                               // tokens of the system message where none is given
	silent     bool                              // no usage
	tokenize   string                            // whose /tokenize it has: vllm, llamacpp, or a wrong one: lies

	requests atomic.Int64
}

// asks is what the server reads of a request.
type asks struct {
	Messages []struct{ Role, Content string }
	Tools    []json.RawMessage
	Prompt   string
	Input    any
	Content  string
}

func (s *server) text(text string) (n int) {
	if s.vocabulary != nil {
		return s.vocabulary.Count(text)
	}
	for i, word := range strings.Split(text, " ") {
		n += s.word(word, i == 0)
	}
	return n
}

func (s *server) tokens(a *asks) int {
	n := s.template
	if len(a.Tools) > 0 {
		n += s.tools
	}
	for i, m := range a.Messages {
		if i == 0 && m.Role != "system" {
			n += s.standard
		}
		n += s.message + s.text(m.Content)
	}
	switch input := a.Input.(type) {
	case string:
		n += s.text(input)
	case []any:
		for _, item := range input {
			n += s.message + s.text(item.(map[string]any)["content"].(string))
		}
	}
	if a.Prompt != "" {
		n += s.text(a.Prompt)
	}
	return n
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	body, _ := io.ReadAll(r.Body)
	var a asks
	_ = json.Unmarshal(body, &a)
	switch {
	case r.URL.Path == "/tokenize" && s.tokenize == "vllm" && a.Content == "":
		fmt.Fprintf(w, `{"count":%d,"max_model_len":4096,"tokens":[]}`, s.tokens(&a))
	case r.URL.Path == "/tokenize" && s.tokenize == "lies":
		fmt.Fprintf(w, `{"count":%d}`, 2*s.tokens(&a))
	case r.URL.Path == "/tokenize" && s.tokenize == "llamacpp":
		var tokens []int
		if a.Content != "" {
			tokens = make([]int, s.text(a.Content)+s.template)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tokens": tokens})
	case r.URL.Path == "/apply-template" && s.tokenize == "llamacpp":
		var texts []string
		for _, m := range a.Messages {
			texts = append(texts, m.Content)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"prompt": strings.Join(texts, " ")})
	case r.URL.Path == "/v1/embeddings":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"object":"list","data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":%d}}`, s.tokens(&a))
	case r.URL.Path == "/v1/responses":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n"+
			"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n", s.tokens(&a))
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		s.answer(w, r.URL.Path == "/v1/chat/completions", s.tokens(&a))
	default:
		http.NotFound(w, r)
	}
}

func (s *server) answer(w http.ResponseWriter, chat bool, tokens int) {
	w.Header().Set("Content-Type", "text/event-stream")
	e := openai.NewChunkEncoder(chat, false, "x", 0, "m")
	_, _ = w.Write(e.Chunk(&openai.Delta{Text: "word"}, nil))
	_, _ = w.Write(e.Chunk(&openai.Delta{Finish: "length"}, nil))
	if !s.silent {
		_, _ = w.Write(e.Usage(openai.NewUsageReport(tokens, 1, 0)))
	}
	_, _ = w.Write(e.Done())
}

// one is a vocabulary that has every word.
func one(string, bool) int { return 1 }

// someSplit is a vocabulary in which every 40th word is two tokens.
func someSplit(word string, _ bool) int {
	for i, w := range allWords() {
		if w == word {
			return 1 + (i%40)/39
		}
	}
	return 1
}

// manySplit is a vocabulary of short pieces.
func manySplit(word string, _ bool) int { return (len(word) + 2) / 3 }

// startsSplit is a vocabulary that lacks words without a space before them.
func startsSplit(word string, first bool) int {
	if first && len(word) > 1 {
		return 2
	}
	return 1
}

func calibration(t *testing.T, s *server, api client.API, sessions []workload.Session) Calibration {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return Calibration{Client: client.Options{Endpoint: web.URL, API: api}, Model: "m", Prompts: Prompts{Seed: 1, Salt: "run"}, Sessions: sessions}
}

// sessions are the first of the command line's default workload.
func sessions(t *testing.T, change func(*workload.Session)) (list []workload.Session) {
	stream := chat(t, false)
	for i := range int64(64) {
		s := stream.Session(i)
		if change != nil {
			change(&s)
		}
		list = append(list, s)
	}
	return list
}

// achieved returns the share of prompts that are as long as asked for: within
// one token or 0.5 %, of those that the template has room for.
func achieved(t *testing.T, s *server, api client.API, l Lengths, list []workload.Session) float64 {
	t.Helper()
	w := &Writer{Model: "m", API: api, Prompts: Prompts{Seed: 1, Salt: "run", Lengths: l}}
	right, n := 0, 0
	for _, session := range list {
		asked := session.Turns[0].Input
		if asked < 400 {
			continue
		}
		var a asks
		if err := json.Unmarshal(w.Write(session, 0, nil, Without{}), &a); err != nil {
			t.Fatal(err)
		}
		n++
		if got := s.tokens(&a); math.Abs(float64(got-asked)) <= max(1, 0.005*float64(asked)) {
			right++
		}
	}
	return float64(right) / float64(n)
}

// TestCalibrate is T59 and T60: the achieved length is the one asked for,
// whatever the vocabulary and the template are.
func TestCalibrate(t *testing.T) {
	noPrefix := func(s *workload.Session) { s.Turns[0].Prefix, s.Turns[0].Group = 0, workload.NoGroup }
	tests := []struct {
		name     string
		server   *server
		api      client.API
		change   func(*workload.Session)
		source   Source
		requests int
		perWord  float64
	}{
		{"words, no template", &server{word: one}, client.Completions, noPrefix, FromUsage, 3, 1},
		{"embeddings", &server{word: one, template: 2}, client.Embeddings, noPrefix, FromUsage, 3, 1},
		{"responses", &server{word: one, template: 3, message: 4}, client.Responses, nil, FromUsage, 3, 1},
		{"words, chat", &server{word: one, template: 3, message: 4}, client.Chat, nil, FromUsage, 3, 1},
		{"standard system message", &server{word: one, template: 3, message: 4, standard: 20}, client.Chat, nil, FromUsage, 3, 1},
		{"words split at the start", &server{word: startsSplit, template: 3, message: 4}, client.Chat, nil, FromUsage, 3, 1},
		{"some words split", &server{word: someSplit, template: 3, message: 4}, client.Chat, nil, FromUsage, 11, 1},
		{"many words split", &server{word: manySplit, template: 3, message: 4}, client.Chat, nil, FromUsage, 13, 2},
		{"tools", &server{word: one, template: 3, message: 4, tools: 200}, client.Chat, func(s *workload.Session) { s.Turns[0].Tools = s.Index%2 == 0 }, FromUsage, 4, 1},
		{"tokenize of vLLM", &server{word: someSplit, template: 3, message: 4, tokenize: "vllm"}, client.Chat, nil, FromServer, 11, 1},
		{"tokenize of vLLM, completions", &server{word: someSplit, template: 1, tokenize: "vllm"}, client.Completions, noPrefix, FromServer, 11, 1},
		{"tokenize of llama.cpp", &server{word: one, template: 5, tokenize: "llamacpp"}, client.Chat, noPrefix, FromServer, 6, 1},
		{"tokenize of llama.cpp, completions", &server{word: one, template: 1, tokenize: "llamacpp"}, client.Completions, noPrefix, FromServer, 4, 1},
		{"tokenize that usage refutes", &server{word: one, template: 3, message: 4, tokenize: "lies"}, client.Chat, nil, FromUsage, 16, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.server
			list := sessions(t, tt.change)
			l, err := Calibrate(t.Context(), calibration(t, s, tt.api, list))
			if err != nil {
				t.Fatal(err)
			}
			if l.Source != tt.source || math.Abs(l.PerWord()-tt.perWord) > 0.001 {
				t.Errorf("%s", l.String())
			}
			if l.Requests != tt.requests || s.requests.Load() < int64(l.Requests) {
				t.Errorf("%d requests counted, %d came, want %d", l.Requests, s.requests.Load(), tt.requests)
			}
			if off, ok := l.Off(); !ok || math.Abs(off) > 0.005 {
				t.Errorf("checked: %v, off by %v", ok, off)
			}
			if share := achieved(t, s, tt.api, l, list); share < 1 {
				t.Errorf("%.0f %% of prompts are as long as asked for", 100*share)
			}
		})
	}
}

// TestCalibrateWithRealVocabularies: byte-pair encodings that know few words, so
// that most are several tokens. Most prompts are right within 0.5 %, by the
// server's usage and by the file alike.
func TestCalibrateWithRealVocabularies(t *testing.T) {
	list := sessions(t, nil)
	for _, name := range []string{"bytelevel", "sentencepiece", "wordpiece"} {
		tokenizer, err := hf.Read("../../internal/tokenizer/hf/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []Tokens{nil, tokenizer} {
			t.Run(fmt.Sprint(name, ", file ", file != nil), func(t *testing.T) {
				s := &server{vocabulary: tokenizer, template: 3, message: 4}
				c := calibration(t, s, client.Chat, list)
				c.Tokenizer = file
				l, err := Calibrate(t.Context(), c)
				if err != nil || l.Refuted != "" {
					t.Fatalf("%v, refuted %q", err, l.Refuted)
				}
				share := achieved(t, s, client.Chat, l, list)
				t.Logf("%s; %.0f %% right", l.String(), 100*share)
				if share < 0.9 {
					t.Errorf("%.0f %% of prompts are as long as asked for", 100*share)
				}
			})
		}
	}
}

// TestCalibrateLaterTurns: the message that a later turn adds is as long as
// asked for too.
func TestCalibrateLaterTurns(t *testing.T) {
	s := &server{word: one, template: 3, message: 4}
	turn := workload.Turn{Group: workload.NoGroup, Input: 600, Output: 50}
	list := []workload.Session{session(turn, turn)}
	l, err := Calibrate(t.Context(), calibration(t, s, client.Chat, list))
	if err != nil {
		t.Fatal(err)
	}
	w := &Writer{Model: "m", Prompts: Prompts{Lengths: l}}
	var a asks
	answer := client.Answer{Text: strings.TrimSpace(strings.Repeat("word ", 50))}
	if err := json.Unmarshal(w.Write(list[0], 1, []client.Answer{answer}, Without{}), &a); err != nil {
		t.Fatal(err)
	}
	if got, want := s.tokens(&a), 600+50+600; got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

// TestCalibrateWithTokenizer: the vocabulary of a file says what words cost, and
// the server what its template adds. T62: a file of another model is noticed.
func TestCalibrateWithTokenizer(t *testing.T) {
	list := sessions(t, nil)
	for _, tt := range []struct {
		name    string
		file    vocabulary
		server  *server
		source  Source
		refuted Source
		err     error
	}{
		{"the server's", someSplit, &server{word: someSplit, template: 3, message: 4}, FromFile, "", nil},
		{"the server's, of short pieces", manySplit, &server{word: manySplit, template: 3, message: 4}, FromFile, "", nil},
		{"another model's", one, &server{word: manySplit, template: 3, message: 4}, FromUsage, FromFile, nil},
		{"no usage", one, &server{word: one, silent: true}, FromFile, "", ErrNoUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := calibration(t, tt.server, client.Chat, list)
			c.Tokenizer = tt.file
			l, err := Calibrate(t.Context(), c)
			if !errors.Is(err, tt.err) || l.Source != tt.source || l.Refuted != tt.refuted {
				t.Fatalf("%v, %s, refuted %q", err, l.String(), l.Refuted)
			}
			if share := achieved(t, tt.server, client.Chat, l, list); share < 1 {
				t.Errorf("%.0f %% of prompts are as long as asked for", 100*share)
			}
		})
	}
}

type vocabulary func(word string, first bool) int

func (v vocabulary) Count(text string) int { return (&server{word: v}).text(text) }

func TestCalibrateGivesUp(t *testing.T) {
	list := sessions(t, nil)
	t.Run("no usage", func(t *testing.T) {
		l, err := Calibrate(t.Context(), calibration(t, &server{word: one, silent: true}, client.Chat, list))
		if !errors.Is(err, ErrNoUsage) || l.Source != "" || l.PerWord() != 1 {
			t.Errorf("%v, %+v", err, l)
		}
	})
	t.Run("a server that fails", func(t *testing.T) {
		c := calibration(t, &server{word: one}, client.Chat, list)
		c.Client.Endpoint += "/elsewhere"
		if _, err := Calibrate(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), "http_404: ") {
			t.Errorf("%v", err)
		}
	})
	t.Run("nothing to find out", func(t *testing.T) {
		s := &server{word: one}
		l, err := Calibrate(t.Context(), calibration(t, s, client.Chat, []workload.Session{session(workload.Turn{Text: "hi"})}))
		if diff := cmp.Diff(Lengths{}, l, cmp.AllowUnexported(Lengths{})); diff != "" || err != nil || s.requests.Load() != 0 {
			t.Errorf("%v, %d requests, %s", err, s.requests.Load(), diff)
		}
	})
}

// Sessions without turns are nothing that is sent, and no reason to ask.
func TestCalibrateWithoutTurns(t *testing.T) {
	turn := workload.Turn{Input: 5, Output: 3, Group: workload.NoGroup}
	for _, tt := range []struct {
		sessions []workload.Session
		shapes   int
	}{
		{nil, 0},
		{make([]workload.Session, 64), 0},
		{[]workload.Session{{}, {Turns: []workload.Turn{turn}}, {}}, 1},
	} {
		if p := planFor(tt.sessions); len(p.shapes) != tt.shapes || tt.shapes > 0 && len(p.sample.Turns) != 1 {
			t.Errorf("plan of %d sessions: %+v, want %d shapes", len(tt.sessions), p, tt.shapes)
		}
	}
}
