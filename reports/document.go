package reports

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/llmctl/llmctl/reports/record"
)

// JSON is the report as an llmctl/run/v1 document, indented, with a newline at
// its end. The same report always gives the same bytes.
func (r *Report) JSON() (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // assertions are full of < and >
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encoding the report: %w", err)
	}
	return out.Bytes(), nil
}

// ParseReport reads what JSON wrote.
func ParseReport(doc json.RawMessage) (*Report, error) {
	var r Report
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, fmt.Errorf("parsing report: %w", err)
	}
	if r.Schema != record.RunSchema {
		return nil, fmt.Errorf("parsing report: its schema is %q, expected %s", r.Schema, record.RunSchema)
	}
	return &r, nil
}
