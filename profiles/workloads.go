package profiles

import (
	"fmt"
	"path/filepath"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/userfile"
)

// WorkloadProfile is a built-in workload and the objective that goes with it.
type WorkloadProfile struct {
	Title    string
	Workload Workload
	SLO      SLO
	Source   string
}

// UnmarshalYAML reads an entry of data/workloads.yaml.
func (p *WorkloadProfile) UnmarshalYAML(node *yaml.Node) error {
	return readMapping(node, "a built-in workload",
		key{"title", into(&p.Title, plainText)},
		key{"source", into(&p.Source, plainText)},
		key{"workload", p.Workload.readYAML},
		key{"slo", p.SLO.readYAML},
	)
}

var workloadIndex = sync.OnceValue(func() []WorkloadProfile {
	return readEmbedded[[]WorkloadProfile]("workloads.yaml")
})

// WorkloadNames returns the names of the built-in workloads.
func WorkloadNames() []string {
	var names []string
	for _, p := range workloadIndex() {
		names = append(names, p.Workload.Name)
	}
	return names
}

// LoadWorkload returns a built-in workload by name, or reads a YAML file of the
// grammar that stands under `workload:` in a scenario.
func LoadWorkload(ref string) (*Workload, error) {
	if !isYAML(ref) {
		return builtinWorkload(ref)
	}
	data, err := userfile.Read(ref, userfile.YAMLLimit)
	if err != nil {
		return nil, fmt.Errorf("reading workload: %w", err)
	}
	w, err := ParseWorkload(data)
	if err == nil {
		err = w.load(filepath.Dir(ref))
	}
	if err != nil {
		return nil, fmt.Errorf("reading workload %s: %w", ref, err)
	}
	return w, nil
}

// load reads the files that a workload names, relative to dir, and makes the
// path of its trace one that is relative to the working directory.
func (w *Workload) load(dir string) error {
	for _, d := range []struct {
		part string
		*Distribution
	}{{"input", &w.Input}, {"output", &w.Output}, {"turns", &w.Session.Turns}} {
		if err := d.load(dir); err != nil {
			return fmt.Errorf("%s: %w", d.part, err)
		}
	}
	if w.Trace.File != "" {
		w.Trace.File = within(dir, w.Trace.File)
	}
	return w.Session.check()
}

// LoadWorkloadProfile returns a built-in workload with its title, objective and
// source.
func LoadWorkloadProfile(name string) (*WorkloadProfile, error) {
	for _, p := range workloadIndex() {
		if p.Workload.Name == name {
			return &p, nil
		}
	}
	return nil, unknown("workload", name, WorkloadNames(), "expected a name from `llmctl profiles workloads` or a YAML file")
}

func builtinWorkload(name string) (*Workload, error) {
	p, err := LoadWorkloadProfile(name)
	if err != nil {
		return nil, err
	}
	return &p.Workload, nil
}

// DefaultSLO is the objective that a workload is judged by when the user gives
// none: that of the built-in workload of this name, else that of chat.
func DefaultSLO(workload string) SLO {
	if p, err := LoadWorkloadProfile(workload); err == nil {
		return p.SLO
	}
	return workloadIndex()[0].SLO
}
