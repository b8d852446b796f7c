package record

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
)

// audit counts what is wrong with the records of a file while they are read.
type audit struct {
	ids                     idSet
	lines, repeated, broken int
	first                   string // what is wrong with the first broken one
}

// passes takes note of one line and reports whether it is a record to count;
// err is why it could not be parsed.
func (a *audit) passes(r *Record, err error) bool {
	a.lines++
	if err == nil {
		if problem := r.check(); problem != nil {
			err = fmt.Errorf("record %d: %w", r.ID, problem)
		}
	}
	switch {
	case err != nil:
		if a.broken++; a.broken == 1 {
			a.first = Printable(fmt.Sprintf("line %d: %v", a.lines, err))
		}
		return false
	case !a.ids.add(r.ID):
		a.repeated++
		return false
	}
	return true
}

// warnings is what to tell when the end has been reached, or err came before it.
// saved is how many records the run had, when it had finished.
func (a *audit) warnings(saved Count, truncated bool, err error) (out []Warning) {
	warn := func(code, format string, args ...any) { out = append(out, Warning{code, fmt.Sprintf(format, args...)}) }
	distinct := a.lines - a.repeated
	want, known := saved.Value()
	if truncated {
		warn(RecordsTruncated, "the records file ends in the middle of a record; the requests after it are lost")
	}
	if err != nil {
		warn(RecordsDamaged, "the records file could not be read to its end (%s); the requests after it are lost", Printable(err.Error()))
	}
	if known && distinct < want {
		warn(RecordsMissing, "%s of the %s records of the run are missing", units.Count(int64(want-distinct)), units.Count(int64(want)))
	}
	if a.repeated > 0 {
		warn(RecordsRepeated, "%s of the records repeat the id of an earlier one and were not counted again", units.Count(int64(a.repeated)))
	}
	if a.broken > 0 {
		warn(RecordsDamaged, "%s of the records can not be right and were left out; the first is %s", units.Count(int64(a.broken)), a.first)
	}
	if known && distinct > want {
		warn(RecordsDamaged, "the file holds %s records, the run had %s", units.Count(int64(distinct)), units.Count(int64(want)))
	}
	return out
}
