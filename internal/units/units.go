// Package units reads and writes the quantities that people type and read:
// "4/s", "500ms", "80GB", "8k". It is the only place that knows suffixes.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseCount reads a number of things: "8192", "8k" (8,000), "1.5M". Token
// counts and limits use decimal suffixes, as their users do.
func ParseCount(s string) (float64, error) {
	return parseScaled(s, map[string]float64{"": 1, "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "b": 1e9, "B": 1e9, "G": 1e9})
}

// ParseRate reads a rate in events per second: "200", "4/s", "600/m", "1k/h".
func ParseRate(s string) (float64, error) {
	number, per, found := strings.Cut(strings.TrimSpace(s), "/")
	scale := 1.0
	if found {
		switch strings.TrimSpace(per) {
		case "s", "sec":
		case "m", "min":
			scale = 1.0 / 60
		case "h":
			scale = 1.0 / 3600
		default:
			return 0, fmt.Errorf("unknown time unit %q in rate %q, expected one like 4/s", per, s)
		}
	}
	v, err := ParseCount(number)
	if err != nil {
		return 0, fmt.Errorf("parsing rate %q, expected one like 4/s", s)
	}
	return v * scale, nil
}

// ParseBytes reads a size: "80GB" (decimal), "80GiB" (binary), "1073741824".
func ParseBytes(s string) (int64, error) {
	v, err := parseScaled(s, map[string]float64{
		"": 1, "B": 1,
		"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	})
	if err != nil {
		return 0, err
	}
	if v < 0 || v > math.MaxInt64/2 {
		return 0, fmt.Errorf("size %q is out of range", s)
	}
	return int64(v), nil
}

// ParseBandwidth reads bytes per second: "50GB/s", or "400Gbit/s" as networks are
// sold. The "/s" may be left out.
func ParseBandwidth(s string) (float64, error) {
	t := strings.TrimSuffix(strings.TrimSpace(s), "/s")
	v, err := parseScaled(t, map[string]float64{
		"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"Mbit": 1e6 / 8, "Gbit": 1e9 / 8, "Tbit": 1e12 / 8,
	})
	if err != nil || v < 0 {
		return 0, fmt.Errorf("parsing bandwidth %q, expected one like 50GB/s or 400Gbit/s", s)
	}
	return v, nil
}

// ParseDuration reads a duration: "500ms", "2s", "10m". A bare number is
// refused, since its unit would have to be guessed.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		return 0, fmt.Errorf("parsing duration %q, expected one like 500ms or 2s", s)
	}
	return d, nil
}

func parseScaled(s string, suffixes map[string]float64) (float64, error) {
	t := strings.TrimSpace(s)
	end := len(t)
	for end > 0 && (t[end-1] < '0' || t[end-1] > '9') && t[end-1] != '.' {
		end--
	}
	scale, ok := suffixes[strings.TrimSpace(t[end:])]
	v, err := strconv.ParseFloat(strings.ReplaceAll(t[:end], "_", ""), 64)
	v *= scale
	if !ok || err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("parsing %q, expected a number with an optional unit", s)
	}
	return v, nil
}

// Count writes n with thousands separators: 1,048,576.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	digits := s
	if n < 0 {
		digits = s[1:]
	}
	var b strings.Builder
	b.WriteString(s[:len(s)-len(digits)])
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Bytes writes a size with a binary unit and three significant digits: 58.1 GiB.
func Bytes(n int64) string {
	v, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if math.Abs(v) < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return significant(v) + " " + unit
}

// Duration writes d with three significant digits and the unit that fits:
// 12.3 ms, 1.50 s, 840 µs.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

// Seconds is Duration for a number of seconds.
func Seconds(s float64) string {
	abs := math.Abs(s)
	switch {
	case s == 0:
		return "0 ms"
	case abs < 1e-3:
		return significant(s*1e6) + " µs"
	case abs < 1:
		return significant(s*1e3) + " ms"
	case abs < 1000:
		return significant(s) + " s"
	default:
		return time.Duration(s * float64(time.Second)).Round(time.Second).String()
	}
}

// Number writes v with three significant digits and thousands separators from
// 1,000 on.
func Number(v float64) string {
	if math.Abs(v) >= 1e15 || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	if math.Abs(v) >= 999.5 {
		return Count(int64(math.Round(v)))
	}
	return significant(v)
}

func significant(v float64) string {
	abs := math.Abs(v)
	switch {
	case v == math.Trunc(v) && abs < 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case abs >= 0.01:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// Of is an amount of things: "1 request", "2.50 requests".
func Of(v float64, thing string) string {
	if text := Number(v); text != "1" {
		return text + " " + thing + "s"
	}
	return "1 " + thing
}
