package cost

import (
	"fmt"
	"math"
	"slices"
)

// ParseCalibration reads a file of `llmctl calibrate`: entries that go before the
// built-in ones. Its errors name entry, field and value.
func ParseCalibration(data []byte) ([]Entry, error) {
	table, err := ParseTable(data)
	if err != nil {
		return nil, err
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("the file has no entries")
	}
	for i, e := range table {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return table, nil
}

func (e Entry) check() error {
	for name, v := range e.Constants {
		if !slices.Contains(TermNames[:], name) {
			return fmt.Errorf("constants: unknown name %q", name)
		}
		if math.IsNaN(v) || v < 0 || v > 1e6 {
			return fmt.Errorf("constants: %s %v is outside 0 to 1,000,000", name, v)
		}
	}
	for _, name := range TermNames {
		if _, ok := e.Constants[name]; !ok {
			return fmt.Errorf("constants: %s is missing", name)
		}
	}
	for _, s := range []struct {
		field  string
		spread Spread
	}{{"error", e.Error.Spread}, {"error: ttft", e.Error.First}} {
		x := s.spread
		if !(x.Relative >= 0 && x.Low > 0 && x.Low <= 1 && x.High >= 1 && x.High < 1e6) {
			return fmt.Errorf("%s: median %v, low %v and high %v are not a distance and factors about 1", s.field, x.Relative, x.Low, x.High)
		}
		if !slices.Contains(Bases, x.Basis) {
			return fmt.Errorf("%s: basis %q is none of %v", s.field, x.Basis, Bases)
		}
	}
	return nil
}
