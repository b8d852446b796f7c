package study

import (
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// engineExperiments are of one engine: batches, prompts and guesses.
var engineExperiments = []experiment{
	{file: "static-batching", seeds: 3, holds: func(t *testing.T, r results) {
		// A static batch of eight holds seven rows of forty tokens for eight hundred
		// steps: it writes about half as fast, and those behind it wait without end.
		between(t, "output tokens/s of static", r.median(t, "static", outputRate), r.median(t, "continuous", outputRate), 0.3, 0.7)
		between(t, "ttft p50 of static", r.median(t, "static", ttftP50), r.median(t, "continuous", ttftP50), 100, 10_000)
	}},
	{file: "chunk-budget", seeds: 3, holds: func(t *testing.T, r results) {
		for _, step := range [][2]string{{"512", "2048"}, {"2048", "8192"}, {"8192", "16384"}} {
			between(t, "icl max of "+step[1], r.median(t, step[1], iclMax), r.median(t, step[0], iclMax), 1.4, 5)
			between(t, "icl p99 of "+step[1], r.median(t, step[1], iclP99), r.median(t, step[0], iclP99), 1.05, 4.5)
		}
		between(t, "ttft p50 of 2048", r.median(t, "2048", ttftP50), r.median(t, "512", ttftP50), 0, 0.5)
	}},
	{file: "long-prompt", holds: func(t *testing.T, r results) {
		between(t, "icl max of 32768", r.median(t, "32768", iclMax), r.median(t, "2048", iclMax), 5, 30)
		// Whatever the budget, the running document takes all of it: newcomers wait
		// until it is through.
		between(t, "ttft p99 of 32768", r.median(t, "32768", ttftP99), r.median(t, "2048", ttftP99), 0.9, 1.1)
	}},
	{
		file: "long-prompt", compare: []profiles.Comparison{{Setting: "chunked_prefill", Values: []string{"on", "off"}}},
		holds: func(t *testing.T, r results) {
			between(t, "icl max without chunks", r.median(t, "off", iclMax), r.median(t, "on", iclMax), 2, 5)
		},
	},
	{
		file: "long-prompt", compare: []profiles.Comparison{{Setting: "long_prefill_token_threshold", Values: []string{"1024", "30000"}}},
		holds: func(t *testing.T, r results) {
			// A part of the step that the document leaves goes to newcomers.
			if with, without := r.median(t, "1024", attained("chat")), r.median(t, "30000", attained("chat")); with < 0.99 || without > 0.9 {
				t.Errorf("chat attains %.3g with a threshold and %.3g without", with, without)
			}
		},
	},
	{file: "speculative", holds: func(t *testing.T, r results) {
		for concurrency, want := range map[string][2]float64{"1": {1.6, 2.2}, "16": {1.4, 1.9}, "64": {1, 1.4}, "256": {0.6, 1}} {
			between(t, "output tokens/s with guesses at concurrency "+concurrency,
				r.median(t, concurrency+" tokens=4,acceptance=0.7,draft_cost=0.1", outputRate), r.median(t, concurrency+" off", outputRate), want[0], want[1])
		}
	}},
}
