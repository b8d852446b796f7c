package record

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Printable is text from elsewhere made safe to print in one line: white space
// of any kind becomes a space, and what a terminal would obey or hide (control
// characters, the marks that turn the direction of writing) becomes a visible
// escape such as \x1b. Bytes that are no UTF-8 become U+FFFD. Text that is safe
// already is returned as it is.
func Printable(s string) string {
	plain := true
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToGraphic(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Clean makes the texts of r printable: servers and files wrote them.
func (r *Record) Clean() {
	for _, s := range []*string{&r.Tenant, &r.Class, &r.Model, &r.RequestID, &r.Detail, &r.FinishReason,
		(*string)(&r.TokensSource), (*string)(&r.Outcome), (*string)(&r.Failure)} {
		*s = Printable(*s)
	}
}

// Clean returns r with its texts made printable, apart from the scenario, which
// is JSON. It shares no text with r that it changed.
func (r Run) Clean() Run {
	for _, s := range []*string{&r.Kind, &r.ID, &r.Asked, &r.Target.Endpoint, &r.Target.Model, &r.Target.Device,
		&r.Environment.Version, &r.Environment.Host, &r.Environment.OS, &r.Environment.CPU, &r.Cost.Source} {
		*s = Printable(*s)
	}
	r.Environment.GPUs, r.Asserts = slices.Clone(r.Environment.GPUs), slices.Clone(r.Asserts)
	for _, list := range [][]string{r.Environment.GPUs, r.Asserts} {
		for i, s := range list {
			list[i] = Printable(s)
		}
	}
	r.SLO, r.Defaults, r.Warnings = slices.Clone(r.SLO), slices.Clone(r.Defaults), slices.Clone(r.Warnings)
	for i := range r.SLO {
		r.SLO[i].Class = Printable(r.SLO[i].Class)
	}
	for i, d := range r.Defaults {
		r.Defaults[i] = Default{Printable(d.Name), Printable(d.Value), Printable(d.Flag)}
	}
	for i, w := range r.Warnings {
		r.Warnings[i] = Warning{Printable(w.Code), Printable(w.Text)}
	}
	r.Server, r.GPUs = slices.Clone(r.Server), slices.Clone(r.GPUs)
	for i := range r.Server {
		r.Server[i].clean()
	}
	for i := range r.GPUs {
		r.GPUs[i].Name = Printable(r.GPUs[i].Name)
	}
	return r
}

// clean makes the texts of s printable, in a map of its own.
func (s *ServerSample) clean() {
	s.Page = Printable(s.Page)
	if s.Finished == nil {
		return
	}
	finished := make(map[string]float64, len(s.Finished))
	for reason, n := range s.Finished {
		finished[Printable(reason)] += n
	}
	s.Finished = finished
}
