package profiles

import (
	"fmt"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/userfile"
)

// LoadScenario reads a scenario file and the files of lengths that it names,
// whose paths are relative to it. A trace's path becomes one that is relative to
// the working directory.
func LoadScenario(path string) (*Scenario, error) {
	data, err := userfile.Read(path, userfile.YAMLLimit)
	if err != nil {
		return nil, fmt.Errorf("reading scenario: %w", err)
	}
	s, err := ParseScenario(data)
	if err == nil {
		err = s.load(filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("reading scenario %s: %w", path, err)
	}
	return s, nil
}

// load reads the files that a scenario names, relative to dir.
func (s *Scenario) load(dir string) error {
	if err := s.Workload.load(dir); err != nil {
		return err
	}
	for i := range s.Also {
		if err := s.Also[i].load(dir); err != nil {
			return fmt.Errorf("also: %w", err)
		}
	}
	return nil
}

// ParseScenario reads a scenario in YAML. Every key must be known; an error
// names the line and the nearest known key. Values are checked one by one, but
// names of models, accelerators and engines are not looked up, and files are not
// read.
func ParseScenario(data []byte) (*Scenario, error) {
	node, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	var s Scenario
	if node == nil {
		return &s, nil
	}
	err = readMapping(node, "a scenario",
		key{"model", into(&s.Model, plainText)},
		key{"accelerator", into(&s.Accelerator, plainText)},
		key{"engine", into(&s.Engine, plainText)},
		key{"parallel", s.Parallel.readYAML},
		key{"workload", s.Workload.readYAML},
		key{"also", func(n *yaml.Node) (err error) { s.Also, err = readAlso(n); return err }},
		key{"serving", inside{&s.Serving}.readYAML},
		key{"cluster", inside{&s.Cluster}.readYAML},
		key{"compare", func(n *yaml.Node) (err error) { s.Compare, err = readCompare(n); return err }},
		key{"slo", func(n *yaml.Node) (err error) { s.SLO, err = readSLOs(n); return err }},
		key{"price", s.Price.readYAML},
		key{"experiment", into(&s.Experiment, parseExperiment)},
		key{"run", inside{&s.Run}.readYAML},
	)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// readAlso reads the workloads that come beside the first.
func readAlso(node *yaml.Node) ([]Workload, error) {
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("expected a list of workloads, got %s", nodeText(node))
	}
	var out []Workload
	for _, item := range node.Content {
		var w Workload
		err := w.readYAML(follow(item))
		if err == nil {
			err = atPart(follow(item), w.checkLoad())
		}
		if err != nil {
			return nil, at(item, err)
		}
		out = append(out, w)
	}
	return out, nil
}

func parseExperiment(s string) (string, error) {
	known := []string{"none", "shared-prefix"}
	if !slices.Contains(known, s) {
		return "", unknown("experiment", s, known, "expected none or shared-prefix")
	}
	return s, nil
}

func (p *Parallel) readYAML(node *yaml.Node) error {
	err := readMapping(node, "parallel",
		key{"tensor", into(&p.Tensor, whole)},
		key{"pipeline", into(&p.Pipeline, whole)},
		key{"expert", into(&p.Expert, whole)},
		key{"data", into(&p.Data, whole)},
	)
	if err != nil {
		return err
	}
	return p.Validate()
}

// Validate reports the first degree that makes no sense; 0 means not said.
func (p Parallel) Validate() error {
	for _, d := range []struct {
		name   string
		degree int
	}{{"tensor", p.Tensor}, {"pipeline", p.Pipeline}, {"expert", p.Expert}, {"data", p.Data}} {
		if d.degree < 0 || d.degree > 4096 {
			return fmt.Errorf("%s parallel degree %d is outside 1 to 4096", d.name, d.degree)
		}
	}
	return nil
}

func (p *Price) readYAML(node *yaml.Node) error {
	err := readMapping(node, "price", key{"usd_per_accelerator_hour", into(&p.USDPerAcceleratorHour, number)})
	if err != nil {
		return err
	}
	if err := CheckHourlyPrice(p.USDPerAcceleratorHour); err != nil {
		return fmt.Errorf("usd_per_accelerator_hour %w", err)
	}
	return nil
}

// readSLOs reads one objective or a list of them.
func readSLOs(node *yaml.Node) ([]SLO, error) {
	items := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		items = node.Content
	}
	var slos []SLO
	for _, item := range items {
		var s SLO
		if err := s.readYAML(follow(item)); err != nil {
			return nil, at(item, err)
		}
		slos = append(slos, s)
	}
	return slos, nil
}

func (s *SLO) readYAML(node *yaml.Node) error {
	clause := func(name string) key {
		return key{name, func(n *yaml.Node) error {
			text, err := scalar(n)
			if err != nil {
				return err
			}
			return s.set(name, text)
		}}
	}
	err := readMapping(node, "slo", key{"class", into(&s.Class, parseClass)},
		clause("ttft"), clause("tpot"), clause("e2e"), clause("ttfo"), clause("attainment"))
	if err != nil {
		return err
	}
	return s.Validate()
}

func parseClass(s string) (string, error) {
	if !isName(s) {
		return "", fmt.Errorf("class %q is not a name of letters, digits, - and _", s)
	}
	return s, nil
}

func (p *Prefix) readYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return into(p, ParsePrefix)(node)
	}
	err := readMapping(node, "prefix",
		key{"groups", into(&p.Groups, whole)},
		key{"tokens", into(&p.Tokens, whole)},
		key{"popularity", into(&p.Popularity, parsePopularity)},
	)
	if err != nil {
		return err
	}
	*p = p.said()
	return p.Validate()
}
