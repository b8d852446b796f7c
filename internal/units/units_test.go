package units

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	count := func(s string) (float64, error) { return ParseCount(s) }
	rate := func(s string) (float64, error) { return ParseRate(s) }
	size := func(s string) (float64, error) { n, err := ParseBytes(s); return float64(n), err }
	duration := func(s string) (float64, error) { d, err := ParseDuration(s); return d.Seconds(), err }
	cases := []struct {
		name  string
		parse func(string) (float64, error)
		in    string
		want  float64 // NaN: refused
	}{
		{"count", count, "8192", 8192},
		{"thousands", count, "8k", 8000},
		{"millions", count, " 1.5M ", 1.5e6},
		{"underscores", count, "1_000", 1000},
		{"negative count", count, "-3", -3}, // the caller knows what may be negative
		{"unknown suffix", count, "8q", math.NaN()},
		{"suffix alone", count, "k", math.NaN()},
		{"nothing", count, "", math.NaN()},
		{"not a number", count, "NaN", math.NaN()},
		{"infinite", count, "1e999", math.NaN()},
		{"bare rate", rate, "200", 200},
		{"per second", rate, "4/s", 4},
		{"per minute", rate, "600/m", 10},
		{"per hour", rate, "7.2k/h", 2},
		{"per fortnight", rate, "1/fortnight", math.NaN()},
		{"rate of nothing", rate, "/s", math.NaN()},
		{"bytes", size, "1024", 1024},
		{"decimal", size, "80GB", 80e9},
		{"binary", size, "80GiB", 80 << 30},
		{"with a space", size, "64 MiB", 64 << 20},
		{"negative size", size, "-1GB", math.NaN()},
		{"absurd size", size, "1e30GB", math.NaN()},
		{"milliseconds", duration, "500ms", 0.5},
		{"minutes", duration, "10m", 600},
		{"no unit", duration, "500", math.NaN()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.parse(c.in)
			if math.IsNaN(c.want) {
				if err == nil {
					t.Fatalf("%q is read as %v, want an error", c.in, got)
				}
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("the error has several lines: %q", err)
				}
				return
			}
			if err != nil || math.Abs(got-c.want) > 1e-9*math.Abs(c.want) {
				t.Errorf("%q: %v, %v, want %v", c.in, got, err, c.want)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	cases := []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(-1234567), "-1,234,567"},
		{Bytes(0), "0 B"}, {Bytes(1023), "1023 B"}, {Bytes(1 << 30), "1 GiB"}, {Bytes(85029615043), "79.2 GiB"},
		{Duration(0), "0 ms"}, {Duration(840 * time.Microsecond), "840 µs"}, {Duration(12345 * time.Microsecond), "12.3 ms"},
		{Duration(1500 * time.Millisecond), "1.50 s"}, {Duration(time.Hour), "1h0m0s"},
		{Number(0.415), "0.41"}, {Number(12.34), "12.3"}, {Number(999.6), "1,000"}, {Number(76.5), "76.5"}, {Number(-2000), "-2,000"},
		{Number(1e300), "1e+300"}, {Number(math.NaN()), "NaN"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"8k", "4/s", "80GiB", "500ms", "-1", "1e308k", "é", "1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseCount(s); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			t.Errorf("count %q: %v", s, v)
		}
		if v, err := ParseRate(s); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			t.Errorf("rate %q: %v", s, v)
		}
		if n, err := ParseBytes(s); err == nil && n < 0 {
			t.Errorf("size %q: %d", s, n)
		}
		if v, err := ParseBandwidth(s); err == nil && !(v >= 0 && !math.IsInf(v, 0)) {
			t.Errorf("bandwidth %q: %v", s, v)
		}
		if d, err := ParseDuration(s); err == nil && Duration(d) == "" {
			t.Errorf("duration %q has no text", s)
		}
	})
}

func TestOf(t *testing.T) {
	for v, want := range map[float64]string{1: "1 request", 2: "2 requests", 0.5: "0.50 requests", 1.004: "1.00 requests", 0: "0 requests", 1500: "1,500 requests"} {
		if got := Of(v, "request"); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestParseBandwidth(t *testing.T) {
	for text, want := range map[string]float64{
		"50GB/s": 50e9, "50GB": 50e9, "400Gbit/s": 50e9, "0.5TB/s": 5e11, "1GiB/s": 1 << 30, " 100 Mbit/s ": 12.5e6, "7": 7,
	} {
		if got, err := ParseBandwidth(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "fast", "-1GB/s", "50GB/m", "50Gb/s", "/s"} {
		if got, err := ParseBandwidth(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
