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
# others are factors over the ideal time. rows are the points of just this engine, family and
# kind; all are fitted together. error is that on models that were held out, error_when_seen
# that of the models in shapes at loads that were held out: the median distance, and the
# factors on a predicted time between which 80 % of the measured ones lie. The first entry
# that matches holds; one without engine or family matches any.
`

// Write writes a table as cost.ParseTable reads it.
func Write(w io.Writer, table []cost.Entry) error {
	var b strings.Builder
	b.WriteString(header)
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
