package accuracy

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/simulator/study"
	plan "github.com/llmctl/llmctl/sizing/accuracy"
)

// methods are all of them, in the order of the page.
var methods = []method{inferenceX, genAIPerf, unknownStart, recorded, inferencePerf}

// A method is how a program measures, as far as it is known.
type method struct {
	name  string
	group string // of the page
	inner bool   // times are those inside of the engine, and throughput that of the whole run, which is not a report's
	apply func(plan.Run, *study.Request) error
}

// methodOf tells from a row's source and load how it was measured.
func methodOf(r plan.Run) (method, bool) {
	closed := strings.HasPrefix(r.Kind, "concurrency")
	switch {
	case closed && strings.Contains(r.Source, "silicon_sample.csv#20"):
		return inferenceX, true
	case closed && strings.Contains(r.Source, "docs.nvidia.com/nim"):
		return genAIPerf, true
	case closed:
		return unknownStart, true
	case strings.HasPrefix(r.Kind, "open loop ShareGPT"):
		return recorded, true
	case strings.HasPrefix(r.Kind, "open loop constant"):
		return inferencePerf, true
	}
	return method{}, false
}

// Rounds is how many requests each client of a closed loop sends, all of whom start
// at once (InferenceX: --num-prompts is ten times the clients).
const Rounds = 10

var inferenceX = method{
	name:  "InferenceX: all clients start at once and send ten requests each; lengths are drawn from 0.8 to 1 of the nominal ones (--random-range-ratio 0.8)",
	group: "closed loops, InferenceX",
	apply: func(r plan.Run, q *study.Request) error {
		closedLoop(r, q)
		w := &q.Sizing.Scenario.Workload
		w.Input, w.Output = down(w.Input), down(w.Output)
		q.Length.Requests = Rounds * int(r.Load)
		return nil
	},
}

// down draws lengths from 0.8 of one that is given up to it.
func down(d profiles.Distribution) profiles.Distribution {
	return profiles.Distribution{Kind: profiles.Uniform, Min: math.Round(0.8 * d.Mean), Max: math.Round(d.Mean)}
}

var genAIPerf = method{
	name:  "GenAI-Perf: fixed lengths, measured when the loop has become steady and clients no longer send at the same moment",
	group: "closed loops, NIM",
	apply: func(r plan.Run, q *study.Request) error {
		closedLoop(r, q)
		q.Length.Requests = max(60, 5*int(r.Load))
		q.Length.Warmup = 5 * time.Minute
		// Equal requests that start together would stay together for ever.
		q.Sizing.Scenario.Workload.Arrival.RampUp = time.Minute
		return nil
	},
}

var unknownStart = method{
	name:  "start and number of requests not stated: all clients at once and ten requests each are taken, of fixed lengths",
	group: "closed loops, other sources",
	apply: func(r plan.Run, q *study.Request) error {
		closedLoop(r, q)
		q.Length.Requests = Rounds * int(r.Load)
		return nil
	},
}

func closedLoop(r plan.Run, q *study.Request) {
	q.Sizing.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: int(r.Load), RampUp: profiles.AtOnce}
}

var recorded = method{
	name:  "the 300 requests of the trace at their times; times to first token are those inside of the engine",
	group: "open loops, traces",
	inner: true,
	apply: func(r plan.Run, q *study.Request) error {
		sessions, err := trace(r.ID)
		if err != nil {
			return err
		}
		q.Sizing.Recorded = sessions
		q.Sizing.Scenario.Workload = profiles.Workload{
			Arrival: profiles.Arrival{Process: profiles.TraceArrival},
			Trace:   profiles.Trace{File: "traces.csv"}, // which has been read
		}
		q.Length.Duration = sessions[len(sessions)-1].Offset + time.Second
		return nil
	},
}

// inferencePerf sends at a constant rate for ten minutes: each of the prompts again
// and again, so that all but a prompt's last block is found in the prefix cache, and
// gives up after five minutes (inference-perf's shared_prefix generator, with 45
// prompts; no time of a completed request is longer than 300 s).
var inferencePerf = method{
	name:  "inference-perf: 45 prompts, sent again and again at a constant rate for ten minutes; clients leave after five minutes",
	group: "open loops, inference-perf",
	apply: func(r plan.Run, q *study.Request) error {
		w := &q.Sizing.Scenario.Workload
		w.Arrival = profiles.Arrival{Process: profiles.Constant, RatePerS: r.Load}
		w.Prefix = profiles.Prefix{Groups: 45, Tokens: int(w.Input.Mean) - 1}
		w.Cancel = profiles.Cancel{Fraction: 1, After: profiles.Delay{Kind: profiles.Fixed, Mean: 5 * time.Minute}}
		q.Length.Duration = 10 * time.Minute
		return nil
	},
}

// traces.csv is arrival, prompt and output of the requests of four runs, from
// casys-kaist/LLMServingSim, bench/examples/*/vllm/requests.jsonl.
//
//go:embed data/traces.csv
var traces string

// trace is the requests of a row.
func trace(row string) (sessions []workload.Session, err error) {
	lines, err := csv.NewReader(strings.NewReader(traces)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading traces.csv: %w", err)
	}
	for i, line := range lines[1:] {
		if line[0] != row {
			continue
		}
		at, err1 := strconv.ParseFloat(line[1], 64)
		input, err2 := strconv.Atoi(line[2])
		output, err3 := strconv.Atoi(line[3])
		for _, err := range []error{err1, err2, err3} {
			if err != nil {
				return nil, fmt.Errorf("reading traces.csv: line %d: %w", i+2, err)
			}
		}
		sessions = append(sessions, workload.Session{
			Index: int64(len(sessions)), Offset: time.Duration(at * float64(time.Second)),
			Turns: []workload.Turn{{Group: workload.NoGroup, Input: input, Output: output}},
		})
	}
	if len(sessions) == 0 {
		return nil, fmt.Errorf("no trace of row %s", row)
	}
	return sessions, nil
}
