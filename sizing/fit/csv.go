package fit

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Row is one line of a table of points, by column. Line is its number in the
// file, the header being line 1.
type Row struct {
	Line   int
	fields map[string]string
}

// columns are the names under which a table may keep a field; the first is the
// documented one, the others are those of llmctl's table of published
// measurements.
var columns = map[string][]string{
	"id":                     {"id"},
	"model":                  {"model_key", "model"},
	"accelerator":            {"accelerator_key", "accelerator"},
	"engine":                 {"engine_key", "engine"},
	"weight_dtype":           {"weight_format", "weight_dtype"},
	"kv_dtype":               {"kv_dtype"},
	"tp":                     {"tp"},
	"pp":                     {"pp"},
	"ep":                     {"ep"},
	"dp":                     {"dp_attn", "dp"},
	"isl":                    {"isl"},
	"osl":                    {"osl"},
	"cached":                 {"cached"},
	"concurrency":            {"concurrency"},
	"rounds":                 {"rounds"},
	"max_num_seqs":           {"max_num_seqs"},
	"max_num_batched_tokens": {"max_num_batched_tokens"},
	"tpot_ms":                {"tpot_ms", "tpot_ms_mean"},
	"ttft_ms":                {"ttft_ms", "ttft_ms_mean"},
	"load_kind":              {"load_kind"},
	"load_value":             {"load_value"},
	"request_rate":           {"request_rate", "request_rate_measured"},
	"notes":                  {"notes"},
	"source":                 {"source"},
	"runnable":               {"runnable"},
	"checks":                 {"checks"},
	"duplicate_of":           {"duplicate_of"},
	"repeat_of":              {"repeat_of"},
}

// maxRows bounds a table, so that a wrong file is refused before it fills memory.
const maxRows = 100_000

// ReadRows reads a CSV with a header. A column that no table of points has is
// ignored.
func ReadRows(r io.Reader) ([]Row, error) {
	in := csv.NewReader(r)
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the file is empty, expected a header line such as model,accelerator,engine,tp,isl,osl,concurrency,tpot_ms")
	}
	if err != nil {
		return nil, err
	}
	header = slices.Clone(header)
	for i := range header {
		header[i] = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(header[i], "\ufeff")))
	}
	for i, name := range header {
		if name != "" && slices.Index(header, name) < i {
			return nil, fmt.Errorf("line 1: column %q is there twice", name)
		}
	}
	var rows []Row
	for {
		line, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if len(rows) == maxRows {
			return nil, fmt.Errorf("more than %d rows", maxRows)
		}
		at, _ := in.FieldPos(0)
		row := Row{Line: at, fields: make(map[string]string, len(header))}
		for i, value := range line {
			row.fields[header[i]] = strings.TrimSpace(value)
		}
		rows = append(rows, row)
	}
}

// NewRow is a row that is no line of a file, by the names of columns.
func NewRow(fields map[string]string) Row { return Row{fields: fields} }

// Fill sets a field that the row leaves blank.
func (r Row) Fill(name, value string) {
	if r.Text(name) == "" && value != "" {
		r.fields[columns[name][0]] = value
	}
}

// at is where a message points: the line, nothing for a row that is no line.
func (r Row) at() string {
	if r.Line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", r.Line)
}

// Text is a field by its name in columns, empty when the row leaves it out.
func (r Row) Text(name string) string {
	for _, column := range columns[name] {
		if v := r.fields[column]; v != "" {
			return v
		}
	}
	return ""
}

// number is a field as a number of at least low; blank is missing.
func (r Row) number(name string, low float64) (v float64, ok bool, err error) {
	return r.between(name, low, 1e9)
}

// between is number with an upper bound.
func (r Row) between(name string, low, high float64) (v float64, ok bool, err error) {
	text := r.Text(name)
	if text == "" {
		return 0, false, nil
	}
	v, err = strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < low || v > high {
		return 0, false, fmt.Errorf("%s%s %q is not a number from %g to %g", r.at(), name, text, low, high)
	}
	return v, true, nil
}

// needed is number for a field that a point can not do without.
func (r Row) needed(name string, low float64) (float64, error) {
	v, ok, err := r.number(name, low)
	if err == nil && !ok {
		err = fmt.Errorf("%s%s is missing", r.at(), name)
	}
	return v, err
}

// count is number for whole values; blank is 0.
func (r Row) count(name string) (int, error) {
	v, _, err := r.number(name, 0)
	if err == nil && v != math.Trunc(v) {
		err = fmt.Errorf("%s%s %q is not a whole number", r.at(), name, r.Text(name))
	}
	return int(v), err
}
