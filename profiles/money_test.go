package profiles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLoadProfile(t *testing.T) {
	halves := strings.Repeat("0.5,", 23) + "1"
	for _, tc := range []struct {
		name, text string
		want       []float64
		rates      bool
	}{
		{"shares", halves, append(slices.Repeat([]float64{0.5}, 23), 1), false},
		{"above 1 they are rates", strings.Repeat("0.5,", 23) + "20", append(slices.Repeat([]float64{0.5}, 23), 20), true},
		{"small rates have their unit", strings.Repeat("0.5,", 23) + "0.7/s", append(slices.Repeat([]float64{0.5}, 23), 0.7), true},
		{"lines and comments", "# measured\n" + strings.Repeat("60/m # an hour\n", 24), slices.Repeat([]float64{1}, 24), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseLoadProfile(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(LoadProfile{"given", tc.want, tc.rates}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for text, want := range map[string]string{
		"1,1":                         "has 2 values, expected 24",
		strings.Repeat("1,", 25):      "more than 24",
		strings.Repeat("0,", 24):      "is 0 in every hour",
		strings.Repeat("-1,", 24):     `hour 0 of the load profile: "-1"`,
		strings.Repeat("1,", 5) + "x": `hour 5 of the load profile: "x"`,
		"":                            "has 0 values",
	} {
		if _, err := ParseLoadProfile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestLoadLoadProfile(t *testing.T) {
	for _, name := range LoadProfileNames() {
		p, err := LoadLoadProfile(name)
		if err != nil || p.Validate() != nil || p.Rates || p.Peak() != 1 {
			t.Errorf("%s: %+v, %v: built-in profiles are shares that reach 1", name, p, err)
		}
	}
	file := filepath.Join(t.TempDir(), "day.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("3\n", 24)), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := LoadLoadProfile(file); err != nil || !p.Rates || p.Name != file {
		t.Errorf("%+v, %v", p, err)
	}
	for ref, want := range map[string]string{
		"ofice":       `unknown load profile "ofice", did you mean "office"?`,
		"day.missing": "reading load profile: ",
	} {
		if _, err := LoadLoadProfile(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", ref, err, want)
		}
	}
}

func TestParseAPIPrice(t *testing.T) {
	for text, want := range map[string]APIPrice{
		"in=0.15,out=0.60":               {0.15, 0.15, 0.6},
		"out=$0.6, in=$0.15,cached=0.07": {0.15, 0.07, 0.6},
		"in=0,out=1,cached=0":            {0, 0, 1},
	} {
		if got, err := ParseAPIPrice(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"0.15":              "expected in=…,out=…",
		"in=1":              "out= is missing",
		"in=1,out=x":        `out="x" is no number`,
		"in=1,out=-1":       "out=-1 is outside 0",
		"in=1,out=NaN":      "is outside 0",
		"in=0,out=0":        "is 0",
		"in=1,in=2,out=1":   "in is said twice",
		"in=1,out=1,cache=": `unknown API price "cache", did you mean "cached"?`,
	} {
		if _, err := ParseAPIPrice(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func FuzzParseLoadProfile(f *testing.F) {
	f.Add("# a day\n" + strings.Repeat("4/s\n", 24))
	f.Add(strings.Repeat("0.5,", 24))
	f.Add("1e309")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseLoadProfile(text)
		if err == nil && (len(p.Hours) != 24 || !(p.Peak() > 0)) {
			t.Fatalf("%q: %+v", text, p)
		}
		if err == nil {
			again, err := LoadLoadProfile(p.String())
			if err != nil || again.Rates != p.Rates || !slices.Equal(again.Hours, p.Hours) {
				t.Fatalf("%q is written as %q, which is %+v, %v", text, p, again, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error of several lines: %q", err)
		}
	})
}

func FuzzParseAPIPrice(f *testing.F) {
	f.Add("in=0.15,out=0.60,cached=0.07")
	f.Add("in=Inf,out=0x1p3")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseAPIPrice(text)
		if err == nil {
			if again, err := ParseAPIPrice(p.String()); err != nil || again != p {
				t.Fatalf("%q is written as %q, which is %+v, %v", text, p, again, err)
			}
		}
		if err == nil && (!p.Said() || !(p.In >= 0 && p.Cached >= 0 && p.Out >= 0)) {
			t.Fatalf("%q: %+v", text, p)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error of several lines: %q", err)
		}
	})
}
