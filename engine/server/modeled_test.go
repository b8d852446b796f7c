package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/modeled"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// bubble is the time of a synctest bubble, which passes only while all wait.
type bubble struct{ start time.Time }

func (b bubble) Now() time.Duration { return time.Since(b.start) }

func (b bubble) SleepUntil(end time.Duration) { time.Sleep(end - b.Now()) }

// stopwatch notes when each piece of a stream's text was written.
type stopwatch struct {
	*httptest.ResponseRecorder
	start time.Time
	at    []time.Duration
}

func (s *stopwatch) Write(event []byte) (int, error) {
	if strings.Contains(string(event), `"text":"`) && !strings.Contains(string(event), `"text":""`) {
		s.at = append(s.at, time.Since(s.start))
	}
	return s.ResponseRecorder.Write(event)
}

// Seen through HTTP, the first token and the time between tokens of a modeled device are
// what the cost model says of their steps, within a millisecond; with a time scale they
// are the same part of that. The engine's own clock tells the model's time in both.
func TestModeledStepsSeenFromOutsideLastWhatTheyCost(t *testing.T) {
	const prompt, output = 300, 40
	m, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	device, err := profiles.LoadAccelerator("h100-sxm-80gb")
	if err != nil {
		t.Fatal(err)
	}
	facts := cost.NewFacts(m, shape.FormatOf(m), "bf16", cost.Parallel{})
	constants := cost.Pick(cost.Table(), "vllm", "hopper", facts)
	step := func(b cost.Batch) time.Duration { return cost.Duration(cost.StepTime(facts, device, constants, b).Seconds) }
	want := []time.Duration{step(cost.Batch{Prefill: []cost.Prefill{{Tokens: prompt, Final: true}}})}
	for i := range output - 1 {
		want = append(want, step(cost.Batch{Decode: []cost.Decode{{Sequences: 1, Context: float64(prompt + i)}}}))
	}
	for _, scale := range []time.Duration{1, 10} {
		t.Run(fmt.Sprintf("%d times as fast", scale), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock modeled.Clock = bubble{time.Now()}
				if scale != 1 {
					clock = modeled.Scaled(clock, float64(scale))
				}
				e, err := engine.New(engine.Config{
					Model: *m, Now: clock.Now, Blocks: 100, Sched: sched.Config{MaxNumBatchedTokens: 2048, MaxNumSeqs: 8, MaxModelLen: 1000},
					Executor: modeled.New(modeled.Config{Facts: facts, Device: device, Constants: constants, Clock: clock}),
				})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				w := &stopwatch{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
				body := fmt.Sprintf(`{"prompt":[%s5],"max_tokens":%d,"ignore_eos":true,"stream":true}`, strings.Repeat("300,", prompt-1), output)
				New(e, Options{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(body)))
				if len(w.at) != output {
					t.Fatalf("%d pieces of text, want %d: %s", len(w.at), output, w.Body)
				}
				before, inside := time.Duration(0), time.Duration(0)
				for i, at := range w.at {
					if d := (at-before)*scale - want[i]; d.Abs() > time.Millisecond {
						t.Errorf("token %d comes after %s, want %s of the model's time, which goes %d times as fast", i, at-before, want[i], scale)
					}
					before = at
					inside += want[i]
				}
				st := e.Stats()
				if d := st.TTFT.Sum - want[0].Seconds(); max(d, -d) > 1e-3 {
					t.Errorf("the engine's time to first token is %g s, want %s", st.TTFT.Sum, want[0])
				}
				if d := st.InterToken.Sum - (inside - want[0]).Seconds(); max(d, -d) > 1e-3 {
					t.Errorf("the engine's times between tokens are %g s, want %s", st.InterToken.Sum, inside-want[0])
				}
			})
		})
	}
}
