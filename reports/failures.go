package reports

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

// shownClasses is how many classes of failures the text names.
const shownClasses = 4

// keptTexts bounds the different explanations that are counted per class of
// failure: servers put ids into them.
const keptTexts = 1000

// failureTexts counts the explanations of failed requests by class.
type failureTexts map[record.Failure]map[string]int

func (f failureTexts) add(class record.Failure, text string) {
	text = strings.TrimPrefix(text, string(class)+": ")
	if text == "" {
		return
	}
	texts := f[class]
	if texts == nil {
		texts = map[string]int{}
		f[class] = texts
	}
	if _, known := texts[text]; known || len(texts) < keptTexts {
		texts[text]++
	}
}

// mostFrequent is the commonest explanation of each class; of equally common
// ones the first in the alphabet, so that the order of records does not matter.
func (f failureTexts) mostFrequent() map[record.Failure]string {
	out := map[record.Failure]string{}
	for class, texts := range f {
		best := 0
		for text, n := range texts {
			if n > best || n == best && text < out[class] {
				best, out[class] = n, text
			}
		}
	}
	return out
}

// failedText says how many of the requests that ended by themselves failed:
// those that were cut are neither ok nor failed.
func (q *Requests) failedText() string {
	switch {
	case q.OK > 0 && q.Cut == 0 && q.Cancelled == 0:
		return fmt.Sprintf("%s of %s failed", percent(*q.FailedShare), count(q.OK+q.Failed, "request"))
	case q.OK > 0:
		return fmt.Sprintf("%s of the %s that ended failed", percent(*q.FailedShare), count(q.OK+q.Failed, "request"))
	case q.Failed == 1:
		return "the only request that ended failed"
	default:
		return fmt.Sprintf("all %s requests that ended failed", units.Count(int64(q.Failed)))
	}
}

// failureDetails explains the classes of failures in one line each, since a
// status alone helps nobody.
func (p *page) failureDetails(q *Requests) {
	for i, class := range record.RankFailures(q.Failures) {
		text := strings.Join(strings.Fields(ansi.Strip(q.FailureDetails[class])), " ")
		if i < shownClasses && text != "" {
			line := ansi.Truncate(string(class)+": "+text, p.width-labelWidth, "…")
			p.line(strings.Repeat(" ", labelWidth) + p.paint(faint, line))
		}
	}
}
