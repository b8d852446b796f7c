package trace

import (
	"bufio"
	"io"
)

// ReadLines reads a file of one JSON object a line for who makes something else
// than sessions of it, under the rules of a trace. Row is called with each line
// that is an object, which is good until the next call; it returns why the line
// is broken or is left out, and neither when it was used. The report counts the
// rows; too many broken ones are an error, and so are none.
func ReadLines(r io.Reader, report *Report, row func(line []byte) (broken, leftOut string)) error {
	in := bufio.NewReaderSize(r, sniffed)
	skipMark(in)
	b := newBuilder(report.File, Options{})
	b.report = report
	l := lines{in: in}
	err := l.each(b, func(line []byte) {
		var object struct{}
		if where, reason := decode(line, &object); reason != "" {
			b.broken(l.n, int(where), reason, "")
			return
		}
		switch broken, leftOut := row(line); {
		case broken != "":
			b.broken(l.n, 1, broken, "")
		case leftOut != "":
			b.leaveOut(l.n, 1, leftOut, "")
		default:
			report.Requests++
		}
	})
	if err != nil {
		return err
	}
	report.Sessions = report.Requests
	return report.check(false)
}
