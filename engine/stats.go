package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// Stats is a snapshot of the engine's gauges and counters, with the meanings of
// vLLM's metrics (vllm/v1/metrics/loggers.py).
type Stats struct {
	sched.Stats          // Waiting includes requests that the loop has not seen yet
	BlockSize   int      // tokens
	Blocks      int      // usable KV blocks
	Prompt      int64    // prompt tokens of requests that produced a first token
	Cached      int64    // of these, saved by the prefix cache
	Recomputed  int64    // prompt tokens that ran again after a preemption
	Generated   int64    // output tokens
	Refused     int64    // requests that could not wait
	QueueTokens int      // prompt tokens of requests that wait for their first start
	Finished    Finished // requests by the reason they ended

	TTFT, InterToken, PerOutputToken           Histogram // seconds
	E2E, Queue, Prefill, Decode, Inference     Histogram // seconds
	PromptTokens, OutputTokens, MaxTokensAsked Histogram // tokens per finished request
	MaxOutput, PrefillComputed                 Histogram // tokens of the longest answer, and of the prompt that were computed, per request
	Answers                                    Histogram // n per request
	StepTokens                                 Histogram // tokens per step

	Speculation Speculation
}

// Finished counts requests by the reason they ended.
type Finished map[sched.FinishReason]int64

// Histogram counts observations by upper bound; the last count is of those
// above all bounds.
type Histogram struct {
	Bounds []float64 // ascending
	Counts []uint64  // one more than Bounds, not cumulative
	Sum    float64
}

func (h *Histogram) observe(v float64) {
	i, _ := slices.BinarySearch(h.Bounds, v)
	h.Counts[i]++
	h.Sum += v
}

func (h *Histogram) observeSpan(from, to time.Duration) { h.observe((to - from).Seconds()) }

func newHistogram(bounds []float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

// vLLM's buckets, and below its smallest some finer ones: the built-in model
// answers faster than any real one. Every bound of vLLM's is kept, so queries
// written for it work.
var (
	ttftBounds   = []float64{.0001, .0002, .0005, .001, .002, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBounds    = []float64{.0001, .0002, .0005, .001, .002, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	spanBounds   = []float64{.0001, .0002, .0005, .001, .005, .01, .025, .05, .1, .2, .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	answerBounds = []float64{1, 2, 5, 10, 20}
	stepBounds   = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
)

// tokenBounds returns 1, 2, 5, 10, … up to the longest request.
func tokenBounds(longest int) (bounds []float64) {
	for decade := 1; ; decade *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*decade > longest {
				return bounds
			}
			bounds = append(bounds, float64(m*decade))
		}
	}
}

func newStats(window, blockSize, blocks, drafts int) Stats {
	span := func() Histogram { return newHistogram(spanBounds) }
	tokens := func() Histogram { return newHistogram(tokenBounds(window)) }
	return Stats{
		BlockSize: blockSize, Blocks: blocks,
		Finished: Finished{sched.Stop: 0, sched.Length: 0, sched.Aborted: 0, sched.Failed: 0},
		TTFT:     newHistogram(ttftBounds), InterToken: newHistogram(itlBounds), PerOutputToken: newHistogram(itlBounds),
		E2E: span(), Queue: span(), Prefill: span(), Decode: span(), Inference: span(),
		PromptTokens: tokens(), OutputTokens: tokens(), MaxTokensAsked: tokens(),
		MaxOutput: tokens(), PrefillComputed: tokens(), Answers: newHistogram(answerBounds),
		StepTokens:  newHistogram(stepBounds),
		Speculation: Speculation{PerPosition: make([]int64, drafts)},
	}
}

// clone copies everything that changes.
func (s *Stats) clone() Stats {
	c := *s
	c.Finished = maps.Clone(s.Finished)
	c.Speculation.PerPosition = slices.Clone(s.Speculation.PerPosition)
	for _, h := range []*Histogram{&c.TTFT, &c.InterToken, &c.PerOutputToken, &c.E2E, &c.Queue, &c.Prefill, &c.Decode,
		&c.Inference, &c.PromptTokens, &c.OutputTokens, &c.MaxTokensAsked, &c.StepTokens, &c.MaxOutput, &c.PrefillComputed, &c.Answers} {
		h.Counts = slices.Clone(h.Counts)
	}
	return c
}

// token counts one output token of an answer at time now, and with the first one of a
// request its prompt.
func (s *Stats) token(a *answer, cached int, now time.Duration) {
	s.Generated++
	if a.first >= 0 {
		s.InterToken.observeSpan(a.last, now)
		return
	}
	s.TTFT.observeSpan(a.of.arrival, now)
	if a.index == 0 {
		prompt := len(a.of.request.Tokens)
		s.Prompt += int64(prompt)
		s.Cached += int64(cached)
		s.PrefillComputed.observe(float64(prompt - cached))
	}
}

// end counts an answer that ended at time now. Aborted ones count as such and nowhere
// else: their times say when the client lost patience.
//
// The intervals are vLLM's: an answer waits until the last start before its first
// token, and what a preemption behind that costs is a part of its decoding.
func (s *Stats) end(a *answer, reason sched.FinishReason, now time.Duration) {
	s.Finished[reason]++
	if a.first < 0 || reason != sched.Stop && reason != sched.Length {
		return
	}
	s.E2E.observeSpan(a.of.arrival, now)
	s.Queue.observeSpan(a.of.arrival, a.admitted)
	s.Prefill.observeSpan(a.admitted, a.first)
	s.Decode.observeSpan(a.first, a.last)
	s.Inference.observeSpan(a.admitted, a.last)
	s.PromptTokens.observe(float64(len(a.of.request.Tokens)))
	s.OutputTokens.observe(float64(a.outputs()))
	s.MaxTokensAsked.observe(float64(a.of.request.MaxTokens))
	if n := a.outputs(); n > 1 {
		s.PerOutputToken.observe((a.last - a.first).Seconds() / float64(n-1))
	}
}

// endRequest counts a request whose last answer has ended.
func (s *Stats) endRequest(l *live) {
	if l.longest > 0 {
		s.MaxOutput.observe(float64(l.longest))
		s.Answers.observe(float64(l.request.answers()))
	}
}
