package fit

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/sizing/cost"
)

// header explains a table of constants to a reader of the file.
const header = `# Constants of the step model (sizing/cost), made by ` + "`make constants`" + ` from the points of
# sizing/accuracy/data/serving_measured.csv; do not edit. Keys in _us are microseconds, the
# others are factors over the ideal time. All points are fitted together; rows are those of
# just this entry. The first entry that matches holds; a field that is left out matches
# anything. error is that on points that were held out, as median distance and as the factors
# on a predicted time between which 80 % of the measured ones lie, of the time per token and of
# the first token (ttft). basis is what was held out: the load (own), the model, the family of
# accelerators, the engine, or engine and family; the last three with the model, and as wide as
# few engines or families to learn from make it.
`

// Write writes the shipped table as cost.ParseTable reads it.
func Write(w io.Writer, table []cost.Entry) error { return write(w, header, table) }

// WriteCalibration writes entries as cost.ParseCalibration reads them.
func WriteCalibration(w io.Writer, table []cost.Entry) error {
	return write(w, "# Constants of the step model, made by `llmctl calibrate` for `llmctl size --calibration`.\n", table)
}

func write(w io.Writer, head string, table []cost.Entry) error {
	var b strings.Builder
	b.WriteString(head)
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(table); err != nil {
		return fmt.Errorf("writing constants: %w", err)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing constants: %w", err)
	}
	return nil
}
