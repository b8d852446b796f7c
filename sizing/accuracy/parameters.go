package accuracy

import (
	"fmt"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// parametersBar is how far a parameter count may be off.
const parametersBar = 0.001

// Parameters compares the count from a config.json with the published total of
// the text model (models.csv).
func Parameters(d Data) ([]Check, error) {
	rows, err := d.table(modelsFile)
	if err != nil {
		return nil, err
	}
	c := Check{Name: "parameters", Bar: "≤ 0.1 % on each model, or explained"}
	for _, r := range rows {
		want, ok := r.number("total_params")
		if !ok || r["key"] == "" {
			continue
		}
		id := r["key"]
		name, err := d.model(id)
		var m *profiles.Model
		if err == nil {
			m, err = profiles.LoadModel(name)
		}
		if err != nil {
			c.Excluded = append(c.Excluded, Exclusion{id, id, err.Error()})
			continue
		}
		got := float64(shape.CountParameters(m).Total())
		c.Rows = append(c.Rows, Row{ID: id, Subject: id, Got: got, Want: want, Error: relative(got, want), Note: d.reason("parameters", id)})
	}
	inside, unexplained := c.within(parametersBar)
	c.Summary = fmt.Sprintf("%d of %d within, %d explained, worst %s", inside, len(c.Rows), len(c.Rows)-inside-unexplained, percent(c.Quantile(1)))
	c.settle(unexplained == 0)
	return []Check{c}, nil
}
