package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/profiles"
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
	for i := range table {
		e := &table[i]
		e.Engine = Imitated(e.Engine, e.Family)
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return table, nil
}

// Applies reports whether an entry is for an engine on an accelerator and a model of
// this shape, so that ConstantsFor takes it.
func Applies(table []Entry, e *profiles.Engine, a *profiles.Accelerator, f Facts) bool {
	_, ok := find(table, Imitated(e.Name, Family(a.Name)), Family(a.Name), f)
	return ok
}

// CheckNames refuses entries that are for an engine or a family that nobody knows:
// a typing error, with which they would silently stay out of use. e and a are what
// is planned for, which may be of the user's own.
func CheckNames(table []Entry, e *profiles.Engine, a *profiles.Accelerator) error {
	engines, families := []string{e.Name}, []string{Family(a.Name)}
	for _, ref := range profiles.EngineNames() {
		name, _, _ := strings.Cut(ref, "@")
		engines = append(engines, name)
	}
	for _, name := range profiles.AcceleratorNames() {
		families = append(families, Family(name))
	}
	for i, entry := range table {
		if name := entry.Engine; name != "" && !slices.Contains(engines, name) {
			return fmt.Errorf("entry %d: unknown engine %q%s", i+1, name, cmp.Or(profiles.DidYouMean(name, engines), ", expected a name such as vllm, without a version"))
		}
		if name := entry.Family; name != "" && !slices.Contains(families, name) {
			return fmt.Errorf("entry %d: unknown family %q%s", i+1, name, cmp.Or(profiles.DidYouMean(name, families), ", expected a generation such as hopper, or an accelerator that is of none"))
		}
	}
	return nil
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
