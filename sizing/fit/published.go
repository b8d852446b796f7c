package fit

import (
	"strings"
)

// Left is a row that is no point, and the rule that left it out.
type Left struct{ ID, Subject, Reason string }

// publishedRounds is how many requests each client of a run sends, all of whom
// start at once: ten times the clients is what InferenceX, of which most rows are,
// passes as --num-prompts (benchmarks/single_node/*.sh).
const publishedRounds = 10

// start reads how a published run starts, which decides what its first tokens
// wait for. GenAI-Perf, which NVIDIA's NIM pages use, measures windows until they
// are stable, without the start. Where the program is not known, ten rounds are a
// guess: such rows are predicted, but nothing is learnt from their first tokens.
func (p *Point) start(r Row) {
	source := r.Text("source")
	switch {
	case p.Load.Cached > 0:
		p.TTFT = 0 // nearly all of it is the part that is not known
	case p.Rate > 0 || p.Load.Rounds > 0 || strings.Contains(source, "docs.nvidia.com/nim"):
	default:
		p.Load.Rounds = publishedRounds
		p.StartGuessed = !strings.Contains(source, "silicon_sample.csv#20") // InferenceX, by date
	}
}

// Published turns llmctl's table of published measurements into points. A row
// counts when it states enough to be a command and has a time per output token.
// resolve gives what profiles.LoadModel takes for a model's key.
func Published(rows []Row, resolve func(key string) (string, error)) (points []Point, left []Left) {
	for _, r := range rows {
		if r.Text("runnable") != "yes" || !strings.Contains(" "+r.Text("checks")+" ", " tpot ") || r.Text("duplicate_of") != "" {
			continue
		}
		model, err := resolve(r.Text("model"))
		var p Point
		if err == nil {
			p, err = r.Point(model)
		}
		if err != nil {
			left = append(left, Left{r.Text("id"), r.Text("model") + " " + r.Text("accelerator") + " " + r.Text("engine"), err.Error()})
			continue
		}
		if strings.Contains(r.Text("notes"), "prefix cache warm") {
			// All of a prompt but its last token; the run does not say how much.
			p.Load.Cached = p.Load.Input - 1
		}
		p.start(r)
		points = append(points, p)
	}
	return points, left
}
