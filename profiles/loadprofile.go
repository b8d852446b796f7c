package profiles

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/internal/userfile"
)

// LoadProfile is the load of each hour of a day, from midnight: shares of the
// peak, or requests per second. The zero value means that nothing is said.
type LoadProfile struct {
	Name  string
	Hours []float64 // 24 of them
	Rates bool      // the hours are requests per second, else shares of 0 to 1
}

// loadProfiles are shapes to begin with, for who has no measured day. They are
// round figures that illustrate, no measurements.
var loadProfiles = map[string][]float64{
	"flat": slices.Repeat([]float64{1}, 24),
	// A service that one time zone uses at work: the peak before and after lunch.
	"office": {
		0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.4, 0.7, 0.9, 1, 1,
		0.8, 0.9, 1, 1, 0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1,
	},
	// A service that one time zone uses at leisure: the peak after dinner.
	"evening": {
		0.5, 0.3, 0.2, 0.1, 0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.6,
		0.6, 0.6, 0.6, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 0.9, 0.7,
	},
}

// LoadProfileNames returns the built-in load profiles in order.
func LoadProfileNames() []string { return slices.Sorted(maps.Keys(loadProfiles)) }

// LoadLoadProfile returns the profile that ref names: a built-in name, 24 values
// with commas, or a file of 24 lines.
func LoadLoadProfile(ref string) (LoadProfile, error) {
	if hours, ok := loadProfiles[strings.ToLower(ref)]; ok {
		return LoadProfile{Name: strings.ToLower(ref), Hours: hours}, nil
	}
	if strings.Contains(ref, ",") {
		return ParseLoadProfile(ref)
	}
	data, err := userfile.Read(ref, userfile.YAMLLimit)
	if err != nil {
		if looksLikeFile(ref) {
			return LoadProfile{}, fmt.Errorf("reading load profile: %w", err)
		}
		return LoadProfile{}, unknown("load profile", ref, LoadProfileNames(),
			"expected 24 values with commas, a file of 24 lines, or one of "+strings.Join(LoadProfileNames(), ", "))
	}
	p, err := ParseLoadProfile(string(data))
	if err != nil {
		return LoadProfile{}, fmt.Errorf("reading load profile %s: %w", ref, err)
	}
	p.Name = ref
	return p, nil
}

// String is the profile as LoadLoadProfile reads it: the name of a built-in one,
// else its 24 values.
func (p LoadProfile) String() string {
	if hours, ok := loadProfiles[p.Name]; ok && slices.Equal(hours, p.Hours) {
		return p.Name
	}
	values := make([]string, len(p.Hours))
	for i, v := range p.Hours {
		values[i] = strconv.FormatFloat(v, 'f', -1, 64)
		if p.Rates {
			values[i] += "/s"
		}
	}
	return strings.Join(values, ",")
}

// looksLikeFile reports whether ref is spelled like a path.
func looksLikeFile(ref string) bool { return strings.ContainsAny(ref, "./\\") }

// ParseLoadProfile reads a day:
//
//	profile = value { ( "," | line break ) value }    24 values; from # on a line is a comment
//	value   = share | rate
//
// A share is a number of 0 to 1, a rate one above 1 or one with its unit (4/s).
// One rate makes all of them rates.
func ParseLoadProfile(text string) (LoadProfile, error) {
	p := LoadProfile{Name: "given"}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for field := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
			if len(p.Hours) == 24 {
				return LoadProfile{}, fmt.Errorf("load profile has more than 24 values, expected one per hour")
			}
			v, err := units.ParseRate(field)
			if err != nil || !(v >= 0 && v <= 1e6) {
				return LoadProfile{}, fmt.Errorf("hour %d of the load profile: %.40q is no share of 0 to 1, and no rate of 0 to 1,000,000 per second", len(p.Hours), field)
			}
			p.Rates = p.Rates || v > 1 || strings.Contains(field, "/")
			p.Hours = append(p.Hours, v)
		}
	}
	return p, p.Validate()
}

// Validate reports the first value that makes no sense; what is not said is fine.
func (p LoadProfile) Validate() error {
	if p.Hours == nil && p.Name == "" {
		return nil
	}
	if len(p.Hours) != 24 {
		return fmt.Errorf("load profile has %d values, expected 24, one per hour from midnight", len(p.Hours))
	}
	highest := 1.0
	if p.Rates {
		highest = 1e6
	}
	for hour, v := range p.Hours {
		if math.IsNaN(v) || v < 0 || v > highest {
			return fmt.Errorf("hour %d of the load profile is %v, outside 0 to %v", hour, v, highest)
		}
	}
	if p.Peak() == 0 {
		return fmt.Errorf("load profile is 0 in every hour")
	}
	return nil
}

// Said reports whether there is a profile.
func (p LoadProfile) Said() bool { return len(p.Hours) > 0 }

// Peak is the largest value of the day.
func (p LoadProfile) Peak() float64 { return slices.Max(p.Hours) }
