package usage

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes groups as a table with a line of names, which hold the units.
// What is absent is empty.
func WriteCSV(w io.Writer, by []Dimension, groups []Group) error {
	out := csv.NewWriter(w)
	names := make([]string, 0, len(by)+len(fields))
	for _, d := range by {
		names = append(names, string(d))
	}
	for _, f := range fields {
		names = append(names, f.name)
	}
	if err := out.Write(names); err != nil {
		return err
	}
	cells := make([]string, 0, len(names))
	for i := range groups {
		cells = cells[:0]
		for _, v := range groups[i].Values {
			cells = append(cells, cell(v))
		}
		for _, f := range fields {
			cells = append(cells, number(f.value(&groups[i])))
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// RequestsCSV returns a function that writes one request a line, and one that ends
// the table.
func RequestsCSV(w io.Writer) (each func(*Record) error, end func() error) {
	out := csv.NewWriter(w)
	names := make([]string, len(requestFields))
	for i, f := range requestFields {
		names[i] = f.name
	}
	wrote := out.Write(names)
	each = func(r *Record) error {
		cells := make([]string, len(requestFields))
		for i, f := range requestFields {
			cells[i] = number(f.value(r))
		}
		return out.Write(cells)
	}
	end = func() error {
		out.Flush()
		if wrote != nil {
			return wrote
		}
		return out.Error()
	}
	return each, end
}

func number(v any, ok bool) string {
	if !ok {
		return ""
	}
	switch v := v.(type) {
	case string:
		return cell(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// cell defuses text that spreadsheets would run as a formula (OWASP, "CSV
// Injection"): a quote before it makes it text.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
