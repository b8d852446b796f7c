package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// table reads lines of comma-separated values under a header (RFC 4180, but for
// line breaks inside of quotes, which no trace has).
type table struct {
	lines lines
	names []string // of the columns, as the file has them
	// Of the row that was read last; good until the next one.
	fields []string
	starts []int // byte column of each field, from 1
}

// openTable reads the header.
func openTable(in *bufio.Reader) (*table, error) {
	t := &table{lines: lines{in: in}}
	line, tooLong, err := t.lines.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errEmpty
	case err != nil:
		return nil, err
	case tooLong || !t.split(line):
		return nil, fmt.Errorf("line %d: no header of columns", t.lines.n)
	}
	for _, name := range t.fields {
		t.names = append(t.names, strings.Clone(strings.TrimSpace(name)))
	}
	return t, nil
}

// column returns the index of a column, told without regard to case, spaces and
// underscores.
func (t *table) column(name string) (int, error) {
	for i, n := range t.names {
		if plain(n) == plain(name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("line 1: column %q is missing%s (columns: %.200s)", name, t.near(name), strings.Join(t.names, ", "))
}

func (t *table) near(name string) string {
	known, shown := make([]string, len(t.names)), map[string]string{}
	for i, n := range t.names {
		known[i] = plain(n)
		shown[plain(n)] = n
	}
	if near := profiles.Suggest(plain(name), known); near != "" {
		return fmt.Sprintf(", the nearest is %q", shown[near])
	}
	return ""
}

func plain(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "").Replace(name))
}

// columns returns the indices of several columns.
func (t *table) columns(names ...string) ([]int, error) {
	out := make([]int, len(names))
	for i, name := range names {
		var err error
		if out[i], err = t.column(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// each calls row for every row that has as many fields as the header.
func (t *table) each(b *builder, row func()) error {
	return t.lines.each(b, func(line []byte) {
		switch {
		case !t.split(line):
			b.broken(t.lines.n, t.starts[len(t.starts)-1], "quotes that do not end, or text after them", "")
		case len(t.fields) != len(t.names):
			b.broken(t.lines.n, 1, fmt.Sprintf("other than %d fields", len(t.names)), "")
		default:
			row()
		}
	})
}

// split cuts a line into its fields; ok is false when its quotes make no sense.
func (t *table) split(line []byte) (ok bool) {
	t.fields, t.starts = t.fields[:0], t.starts[:0]
	if bytes.IndexByte(line, '"') < 0 {
		text, start := string(line), 1
		for {
			field, rest, more := strings.Cut(text, ",")
			t.fields, t.starts = append(t.fields, field), append(t.starts, start)
			if !more {
				return true
			}
			start += len(field) + 1
			text = rest
		}
	}
	return t.splitQuoted(string(line))
}

func (t *table) splitQuoted(text string) bool {
	for at := 0; ; at++ {
		t.starts = append(t.starts, at+1)
		var end int
		if at < len(text) && text[at] == '"' {
			var field strings.Builder
			for end = at + 1; ; end++ {
				i := strings.IndexByte(text[end:], '"')
				if i < 0 {
					return false
				}
				field.WriteString(text[end : end+i])
				end += i + 1
				if end == len(text) || text[end] != '"' {
					break
				}
				field.WriteByte('"')
			}
			t.fields = append(t.fields, field.String())
		} else {
			if i := strings.IndexByte(text[at:], ','); i >= 0 {
				end = at + i
			} else {
				end = len(text)
			}
			t.fields = append(t.fields, text[at:end])
		}
		if end == len(text) {
			return true
		}
		if text[end] != ',' {
			return false
		}
		at = end
	}
}

// tokens reads a field as a count of tokens; ok is false when the row is broken.
func (t *table) tokens(b *builder, column int) (n int, ok bool) {
	text := strings.TrimSpace(t.fields[column])
	n, reason := tokens(text)
	if reason != "" {
		b.broken(t.lines.n, t.starts[column], reason+" in "+t.names[column], text)
	}
	return n, reason == ""
}
