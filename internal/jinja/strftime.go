package jinja

import (
	"fmt"
	"strings"
	"time"
)

// layouts are the directives of C's strftime that Go has a layout for.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'm': "01", 'y': "06", 'Y': "2006",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'Z': "MST", 'z': "-0700", 'j': "002",
	'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'R': "15:04", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
}

// strftime formats a time as Python does in the C locale. %-d and its like drop a
// leading zero, as with glibc. An unknown directive stays as it is.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format)
		if bare {
			i++
		}
		var s string
		switch layout, ok := layouts[format[i]]; {
		case ok:
			s = t.Format(layout)
		case format[i] == '%':
			s = "%"
		case format[i] == 'f':
			s = fmt.Sprintf("%06d", t.Nanosecond()/1000)
		case format[i] == 's':
			s = fmt.Sprint(t.Unix())
		case format[i] == 'u':
			s = fmt.Sprint((int(t.Weekday())+6)%7 + 1)
		case format[i] == 'w':
			s = fmt.Sprint(int(t.Weekday()))
		case format[i] == 'n':
			s = "\n"
		case format[i] == 't':
			s = "\t"
		default:
			s = "%" + format[i:i+1]
		}
		if bare {
			if s = strings.TrimLeft(s, "0 "); s == "" {
				s = "0"
			}
		}
		b.WriteString(s)
	}
	return b.String()
}
