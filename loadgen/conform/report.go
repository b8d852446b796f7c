package conform

import (
	"slices"

	"github.com/llmctl/llmctl/reports/record"
)

// Schema names the form of a Report in JSON.
const Schema = "llmctl/conform/v1"

// Verdict is how a case ended.
type Verdict string

// The verdicts. A case is skipped with a reason, never silently.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	Skip Verdict = "skip"
)

// Result is how one case ended.
type Result struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Why      string  `json:"why"`
	Issue    string  `json:"issue,omitempty"`
	Level    Level   `json:"level"`
	Suite    Suite   `json:"suite"`
	Verdict  Verdict `json:"verdict"`
	Sent     string  `json:"sent"`
	Expected string  `json:"expected"`
	Seen     string  `json:"seen,omitempty"`
	Reason   string  `json:"reason,omitempty"` // of a skip
	Seconds  float64 `json:"duration_s"`
}

// Summary counts the results.
type Summary struct {
	Passed       int `json:"passed"`
	Skipped      int `json:"skipped"`
	FailedMust   int `json:"failed_must"`
	FailedShould int `json:"failed_should"`
	FailedInfo   int `json:"failed_info"`
}

// Report is what a run found.
type Report struct {
	Schema      string   `json:"schema"`
	Endpoint    string   `json:"endpoint"` // without credentials
	Model       string   `json:"model"`
	Server      string   `json:"server,omitempty"` // what it calls itself in its Server header
	Suite       Suite    `json:"suite"`
	Interrupted bool     `json:"interrupted,omitempty"`
	Requests    int64    `json:"requests"` // how many were sent
	Seconds     float64  `json:"duration_s"`
	Summary     Summary  `json:"summary"`
	Results     []Result `json:"results"`
}

// Failed reports whether a case of that level or a stronger one failed.
func (r *Report) Failed(level Level) bool {
	for i := range r.Results {
		if r.Results[i].Verdict == Fail && r.Results[i].Level.AtLeast(level) {
			return true
		}
	}
	return false
}

func (r *Report) add(result Result) {
	r.Results = append(r.Results, result)
	s := &r.Summary
	switch {
	case result.Verdict == Pass:
		s.Passed++
	case result.Verdict == Skip:
		s.Skipped++
	case result.Level == Must:
		s.FailedMust++
	case result.Level == Should:
		s.FailedShould++
	default:
		s.FailedInfo++
	}
}

// printable is the report with texts of the endpoint's that a terminal does not obey.
func (r *Report) printable() *Report {
	clean := *r
	clean.Endpoint, clean.Model, clean.Server = record.Printable(r.Endpoint), record.Printable(r.Model), record.Printable(r.Server)
	clean.Results = slices.Clone(r.Results)
	for i := range clean.Results {
		c := &clean.Results[i]
		for _, s := range []*string{&c.Sent, &c.Expected, &c.Seen, &c.Reason} {
			*s = record.Printable(*s)
		}
	}
	return &clean
}
