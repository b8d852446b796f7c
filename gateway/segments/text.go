package segments

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/llmctl/llmctl/reports/record"
)

// WriteText writes reports for people.
func WriteText(w io.Writer, reports []Report) error {
	var b strings.Builder
	for i := range reports {
		if i > 0 {
			b.WriteString("\n")
		}
		reports[i].text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) text(b *strings.Builder) {
	b.WriteString(r.Alias + ": " + r.summary() + "\n")
	if len(r.Prefixes) > 0 {
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(t, "requests\tshare\ttokens\tof all tokens\ttenants\tpin\t  prefix up to\n")
		for _, p := range r.Prefixes {
			pin := ""
			if p.Pin {
				pin = "yes"
			}
			end := ""
			if !p.Whole {
				end = fmt.Sprintf(", byte %d", p.Offset)
			}
			traffic := percent(p.Traffic)
			if p.Tokens == 0 { // less than one, of which a share says nothing
				traffic = "-"
			}
			fmt.Fprintf(t, "%d\t%s\t%d\t%s\t%s\t%s\t  %s%s%s%s\n", p.Requests, percent(p.Share), p.Tokens, traffic, atLeast(p.Tenants), pin,
				p.Segment, inBrackets(p.Role), end, quoted(p.Excerpt))
		}
		_ = t.Flush() // to memory
	}
	for _, x := range r.Breaks {
		fmt.Fprintf(b, "broken in %s of requests by %s at byte %d of %s%s%s", percent(x.Share), article[x.LooksAs], x.Offset, x.Segment, inBrackets(x.Role), quoted(x.Excerpt))
		if x.TokensAfter > 0 {
			follow := "follow"
			if x.TokensAfter == 1 {
				follow = "follows"
			}
			fmt.Fprintf(b, "; %s of it %s, the same as before in %s of cases", several(x.TokensAfter, "token"), follow, percent(x.SameAfter))
		}
		b.WriteString("\n")
	}
}

var article = map[Kind]string{
	Timestamp: "a timestamp", Date: "a date", UUID: "a UUID", Counter: "a counter", Number: "a number", Identifier: "an identifier", Text: "other text",
}

// summary is what there was, and what of it repeats.
func (r *Report) summary() string {
	switch {
	case r.Requests == 0:
		return "no requests yet"
	case r.Tokens == 0:
		return several(r.Requests, "request") + " without a whole prompt token"
	}
	repeated := percent(float64(r.RepeatedTokens) / float64(r.Tokens))
	if r.RepeatedTokens == 0 {
		repeated = "none"
	}
	return fmt.Sprintf("%s with %s, of which an earlier prompt began with %s", several(r.Requests, "request"), several(r.Tokens, "prompt token"), repeated)
}

func several(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// percent is a share in per cent. What is not all, and not nothing, is not rounded
// to it.
func percent(share float64) string {
	const least = 0.0005
	switch {
	case share > 0 && share < least:
		return "< 0.1 %"
	case share < 1 && share > 1-least:
		return "> 99.9 %"
	case share == 1:
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

func atLeast(tenants int) string {
	if tenants == maxTenants {
		return fmt.Sprintf("≥ %d", tenants)
	}
	return fmt.Sprint(tenants)
}

func inBrackets(role string) string {
	if role == "" {
		return ""
	}
	return " (" + record.Printable(role) + ")" // as a client wrote it
}

func quoted(excerpt string) string {
	if excerpt == "" {
		return ""
	}
	return fmt.Sprintf(" %q", excerpt)
}
