package cost

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/profiles"
)

// Entry is the constants of an engine on a family of accelerators for one kind of
// model, as constants.yaml and calibration files keep them. Empty fields match
// anything.
type Entry struct {
	Engine string `yaml:"engine,omitempty"`
	Family string `yaml:"family,omitempty"`
	MoE    bool   `yaml:"moe"`
	Shape  string `yaml:"shape,omitempty"` // of one model (Facts.Shape)
	// Rows are the measured points that the fit saw of just this engine, family,
	// kind and shape, by their id.
	Rows      []string           `yaml:"rows,omitempty,flow"`
	Constants map[string]float64 `yaml:"constants,flow"`
	Error     Error              `yaml:"error,flow"`
	Source    string             `yaml:"source"`
}

//go:embed constants.yaml
var constantsFile []byte

// cpuFile is measured by llmctl itself; see there.
//
//go:embed cpu.yaml
var cpuFile []byte

var constantsTable = sync.OnceValue(func() (table []Entry) {
	for _, data := range [][]byte{cpuFile, constantsFile} {
		entries, err := ParseTable(data)
		if err != nil {
			panic(fmt.Sprintf("embedded constants: %v", err))
		}
		table = append(table, entries...)
	}
	return table
})

// Table is the shipped constants, in the order in which Pick looks.
func Table() []Entry { return constantsTable() }

// ParseTable reads a list of entries in YAML.
func ParseTable(data []byte) ([]Entry, error) {
	var table []Entry
	if err := userfile.DecodeYAML(data, &table); err != nil {
		return nil, err
	}
	return table, nil
}

// families are the accelerator generations, by the start of the key.
var families = []struct{ prefix, family string }{
	{"h100", "hopper"}, {"h200", "hopper"}, {"h20-", "hopper"}, {"h800", "hopper"}, {"gh200", "hopper"},
	{"b200", "blackwell"}, {"b300", "blackwell"}, {"gb200", "blackwell"}, {"gb300", "blackwell"},
	{"rtx-pro-6000", "blackwell-pcie"}, {"rtx-5090", "blackwell-pcie"},
	{"a100", "ampere"}, {"a30", "ampere"}, {"a40", "ampere"}, {"a10g", "ampere"}, {"rtx-a6000", "ampere"}, {"rtx-3090", "ampere"},
	{"l4", "ada"}, {"rtx-4090", "ada"}, {"mi3", "cdna3"},
}

// Family is the generation of an accelerator; one that is not known is a family of
// its own.
func Family(accelerator string) string {
	for _, f := range families {
		if strings.HasPrefix(accelerator, f.prefix) {
			return f.family
		}
	}
	return accelerator
}

// Imitated is the engine whose times an engine has on a family: on any but the
// CPU, llmctl's own imitates vLLM.
func Imitated(engine, family string) string {
	if engine == profiles.BundledEngine && family != profiles.CPU {
		return "vllm"
	}
	return engine
}

// ConstantsFor returns the constants for an engine on an accelerator and a model
// of this shape. Entries of a calibration go before the built-in ones.
func ConstantsFor(e *profiles.Engine, a *profiles.Accelerator, f Facts, calibration ...Entry) Constants {
	family := Family(a.Name)
	engine := Imitated(e.Name, family)
	if c, ok := find(calibration, engine, family, f); ok {
		return c
	}
	return Pick(constantsTable(), engine, family, f)
}

// Pick takes the first entry that matches. The table must end in entries that
// match everything.
func Pick(table []Entry, engine, family string, f Facts) Constants {
	c, ok := find(table, engine, family, f)
	if !ok {
		panic("the table of constants has no entry that matches everything")
	}
	return c
}

func find(table []Entry, engine, family string, f Facts) (Constants, bool) {
	shape := f.Shape()
	for _, e := range table {
		if e.MoE == f.MoE && (e.Engine == "" || e.Engine == engine) && (e.Family == "" || e.Family == family) && (e.Shape == "" || e.Shape == shape) {
			return e.constants(), true
		}
	}
	return Constants{}, false
}

func (e Entry) constants() Constants {
	var v [Terms]float64
	for i, name := range TermNames {
		v[i] = e.Constants[name]
	}
	c := FromVector(v)
	c.Error, c.Source = e.Error, e.Source
	return c
}

// Shape tells models apart by what their times depend on, whatever their name:
// layers × hidden width, and experts where there are any.
func (f *Facts) Shape() string {
	text := fmt.Sprintf("%dx%d", f.Layers, f.Hidden)
	if f.Experts > 0 {
		text += fmt.Sprintf("x%de%d", f.Experts, f.PerToken)
	}
	return text
}
