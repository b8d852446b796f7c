package segments

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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
	fmt.Fprintf(b, "%s: %d requests with %d prompt tokens, of which an earlier prompt began with %s\n", r.Alias, r.Requests, r.Tokens, percent(r.RepeatedTokens, r.Tokens))
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
			fmt.Fprintf(t, "%d\t%.1f %%\t%d\t%.1f %%\t%s\t%s\t  %s%s%s%s\n", p.Requests, 100*p.Share, p.Tokens, 100*p.Traffic, atLeast(p.Tenants), pin,
				p.Segment, inBrackets(p.Role), end, quoted(p.Excerpt))
		}
		_ = t.Flush() // to memory
	}
	for _, x := range r.Breaks {
		fmt.Fprintf(b, "broken in %.1f %% of requests by %s at byte %d of %s%s%s", 100*x.Share, article[x.LooksAs], x.Offset, x.Segment, inBrackets(x.Role), quoted(x.Excerpt))
		if x.TokensAfter > 0 {
			fmt.Fprintf(b, "; %d tokens of it follow, the same as before in %.0f %% of cases", x.TokensAfter, 100*x.SameAfter)
		}
		b.WriteString("\n")
	}
}

var article = map[Kind]string{
	Timestamp: "a timestamp", Date: "a date", UUID: "a UUID", Counter: "a counter", Number: "a number", Identifier: "an identifier", Text: "other text",
}

func percent(part, of int64) string {
	if of == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(of))
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
	return " (" + role + ")"
}

func quoted(excerpt string) string {
	if excerpt == "" {
		return ""
	}
	return fmt.Sprintf(" %q", excerpt)
}
