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
	if x := e.Error; !(x.Relative >= 0 && x.Low > 0 && x.Low <= 1 && x.High >= 1 && x.High < 1e6) {
		return fmt.Errorf("error: median %v, low %v and high %v are not a distance and factors about 1", x.Relative, x.Low, x.High)
	}
	return nil
}
