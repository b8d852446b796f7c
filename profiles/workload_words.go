package profiles

import "fmt"

// RequestWords says how long requests are, and what is not as single requests that
// are left to end would be.
func (w Workload) RequestWords() string {
	if w.Trace.File != "" {
		return "requests of " + w.Trace.File
	}
	words := fmt.Sprintf("input %s, output %s tokens, prefix %s", w.Input.Words(), w.Output.Words(), w.Prefix)
	if w.Session.Turns.Kind != "" {
		words += ", turns " + w.Session.Turns.Words()
	}
	if w.Session.Think.Kind != "" {
		words += ", think " + w.Session.Think.String()
	}
	if w.Cancel.Fraction > 0 {
		words += ", cancel " + w.Cancel.String()
	}
	return words
}
