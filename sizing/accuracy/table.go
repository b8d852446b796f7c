package accuracy

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// record is one row of a CSV by the names of its header.
type record map[string]string

// readTable reads a CSV of the data's folder, which must have the columns.
func readTable(files fs.FS, name string, needed ...string) ([]record, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("reading %s: the header is missing", name)
	}
	for i, column := range lines[0] {
		lines[0][i] = strings.TrimSpace(strings.TrimPrefix(column, "\ufeff"))
	}
	for _, column := range needed {
		if !slices.Contains(lines[0], column) {
			return nil, fmt.Errorf("reading %s: column %s is missing", name, column)
		}
	}
	var rows []record
	for n, line := range lines[1:] {
		r := record{}
		for i, value := range line {
			r[lines[0][i]] = strings.TrimSpace(value)
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("reading %s: line %d: %w", name, n+2, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// firstNumber finds the value in "0.9 (default)" and "mem-fraction-static 0.93".
var firstNumber = regexp.MustCompile(`[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

// number is the first number of a field; false when it has none.
func (r record) number(field string) (float64, bool) {
	v, err := strconv.ParseFloat(firstNumber.FindString(r[field]), 64)
	return v, err == nil
}

// count is number for whole values, 0 when the field has none.
func (r record) count(field string) int {
	v, _ := r.number(field)
	return int(v)
}

// runnable reports whether the row states enough to be a command.
func (r record) runnable() bool { return r["runnable"] == "yes" }

// checks reports whether a figure of the row may be tested.
func (r record) checks(figure string) bool {
	for _, name := range strings.Fields(r["checks"]) {
		if name == figure {
			return true
		}
	}
	return false
}
