package fit

import (
	"strings"
)

// Left is a row that is no point, and the rule that left it out.
type Left struct{ ID, Subject, Reason string }

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
		points = append(points, p)
	}
	return points, left
}
