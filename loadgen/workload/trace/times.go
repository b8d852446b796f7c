package trace

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// nanoseconds turns a time in seconds into nanoseconds; ok is false when it is
// no time that anybody means.
func nanoseconds(seconds float64) (ns int64, ok bool) {
	if !(math.Abs(seconds) < maxSeconds) {
		return 0, false
	}
	return int64(math.Round(seconds * 1e9)), true
}

// instant reads a date and time, as Azure and RFC 3339 write it, with or without
// a zone; without one it is UTC.
func instant(s string) (ns int64, ok bool) {
	if len(s) < len("2006-01-02 15:04:05") {
		return 0, false
	}
	layout := "2006-01-02 15:04:05"
	if s[10] == 'T' || s[10] == 't' {
		layout = "2006-01-02T15:04:05"
		s = s[:10] + "T" + s[11:]
	}
	switch zone := s[19:]; {
	case strings.HasSuffix(zone, "Z"), strings.Contains(zone, ":"):
		layout += "Z07:00"
	case strings.ContainsAny(zone, "+-"):
		layout += "Z0700"
	}
	t, err := time.Parse(layout, s)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return 0, false
	}
	return t.UnixNano(), true
}

// unit is how long one of a trace's numbers of time lasts, in seconds.
type unit float64

const (
	seconds      unit = 1
	milliseconds unit = 1e-3
	microseconds unit = 1e-6
	nanosecond   unit = 1e-9
)

// epochUnit tells the unit of a number that counts from 1970: the one that puts
// it between 2001 and 2286. A smaller number counts from something else, and ok
// is false.
func epochUnit(v float64) (u unit, ok bool) {
	switch {
	case v >= 1e18:
		return nanosecond, true
	case v >= 1e15:
		return microseconds, true
	case v >= 1e12:
		return milliseconds, true
	case v >= 1e9:
		return seconds, true
	}
	return 0, false
}

// number reads a number of time in a unit.
func (u unit) number(s string) (ns int64, ok bool) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return nanoseconds(v * float64(u))
}

// ParseTime reads a time as logs have it: a date and time, or a number, which
// counts from 1970 when it is large enough to (in seconds, milliseconds,
// microseconds or nanoseconds, whichever puts it between 2001 and 2286), and is
// seconds since the log's start otherwise. It returns nanoseconds.
func ParseTime(s string) (ns int64, ok bool) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return instant(s)
	}
	u, known := epochUnit(v)
	if !known {
		u = seconds
	}
	return nanoseconds(v * float64(u))
}
