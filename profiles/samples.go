package profiles

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/internal/userfile"
)

const (
	// maxSamples bounds the values of an empirical distribution: a million tell
	// its 99.99th percentile to 1%.
	maxSamples = 1_000_000
	// samplesLimit bounds the file, in bytes.
	samplesLimit = 16 << 20
)

// LoadDistribution reads a distribution as ParseDistribution does, and the file
// of an empirical one. Paths are relative to the working directory.
func LoadDistribution(s string) (Distribution, error) {
	d, err := ParseDistribution(s)
	if err != nil {
		return d, err
	}
	err = d.load("")
	return d, err
}

// load reads the file of an empirical distribution, whose path is relative to
// dir. The path becomes that of the file as seen from the working directory.
func (d *Distribution) load(dir string) error {
	if d.Kind != Empirical || d.Samples.File == "" {
		return nil
	}
	path := within(dir, d.Samples.File)
	data, err := userfile.Read(path, samplesLimit)
	if err != nil {
		return fmt.Errorf("reading lengths: %w", err)
	}
	values, err := parseSampleLines(path, data)
	d.Samples = &Samples{File: path, Values: values}
	return err
}

// within is a path as seen from dir.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// parseSampleLines reads one number a line; from # on a line is a comment. An
// error names the line and the column.
func parseSampleLines(path string, data []byte) ([]float64, error) {
	var values []float64
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text, _, _ := strings.Cut(string(line), "#")
		trimmed := strings.TrimSpace(text)
		if trimmed == "" {
			continue
		}
		v, err := parseSample(trimmed)
		if err != nil {
			return nil, fmt.Errorf("reading lengths %s:%d:%d: %w", path, number, 1+strings.Index(text, trimmed), err)
		}
		if len(values) == maxSamples {
			return nil, fmt.Errorf("reading lengths %s:%d: more than %s values", path, number, units.Count(maxSamples))
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("reading lengths %s: no number in it, expected one a line", path)
	}
	slices.Sort(values)
	return values, nil
}

func parseSample(s string) (float64, error) {
	v, err := units.ParseCount(s)
	if err != nil || !(v >= 1 && v <= maxLength) {
		return 0, fmt.Errorf("%.40q is no number of 1 to %s", s, units.Count(maxLength))
	}
	return v, nil
}

// parseSamples reads what stands behind "empirical:": numbers between commas,
// or else the name of a file.
func parseSamples(s string) (*Samples, error) {
	s = strings.TrimSpace(s)
	parts := strings.Split(s, ",")
	for _, part := range parts {
		if _, err := units.ParseCount(part); err != nil {
			return &Samples{File: s}, checkPath(s)
		}
	}
	return newSamples(parts)
}

// newSamples takes values that the scenario lists.
func newSamples(texts []string) (*Samples, error) {
	s := &Samples{}
	for _, text := range texts {
		v, err := parseSample(text)
		if err != nil {
			return nil, err
		}
		s.Values = append(s.Values, v)
	}
	slices.Sort(s.Values)
	return s, s.validate()
}

// checkPath refuses what names no file beside a scenario.
func checkPath(path string) error {
	switch {
	case path == "", path == "-":
		return fmt.Errorf("%q is no file: standard input can not be read twice, name one", path)
	case strings.Contains(path, "://"):
		return fmt.Errorf("%q is an address, expected a file", path)
	case len(path) > 4096 || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '�' }):
		return fmt.Errorf("%.60q is no name of a file", path)
	}
	return nil
}

// validate reports values that are missing or make no sense.
func (s *Samples) validate() error {
	switch {
	case s == nil || len(s.Values) == 0 && s.File == "":
		return fmt.Errorf("empirical needs a file, or a list of values")
	case len(s.Values) == 0:
		return fmt.Errorf("the empirical values of %s have not been read", s.File)
	case len(s.Values) > maxSamples:
		return fmt.Errorf("%d empirical values are more than %s", len(s.Values), units.Count(maxSamples))
	}
	for i, v := range s.Values {
		if !(v >= 1 && v <= maxLength) || i > 0 && v < s.Values[i-1] {
			return fmt.Errorf("empirical value %v is outside 1 to %s, or not in ascending order", v, units.Count(maxLength))
		}
	}
	return nil
}

// String writes the samples as parseSamples reads them.
func (s *Samples) String() string {
	if s == nil || s.File != "" {
		return s.file()
	}
	texts := make([]string, len(s.Values))
	for i, v := range s.Values {
		texts[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(texts, ",")
}

func (s *Samples) file() string {
	if s == nil {
		return ""
	}
	return s.File
}

func (s *Samples) mean() float64 {
	sum := 0.0
	for _, v := range s.Values {
		sum += v / float64(len(s.Values))
	}
	return sum
}

// quantile is the smallest value that a share p of them does not exceed.
func (s *Samples) quantile(p float64) float64 {
	i := int(math.Ceil(p*float64(len(s.Values)))) - 1
	return s.Values[min(max(i, 0), len(s.Values)-1)]
}

// readSamples reads { file: lengths.txt }, or a list of values.
func readSamples(node *yaml.Node) (*Samples, error) {
	if node.Kind == yaml.SequenceNode {
		texts := make([]string, len(node.Content))
		for i, item := range node.Content {
			text, err := scalar(follow(item))
			if err != nil {
				return nil, at(item, err)
			}
			texts[i] = text
		}
		return newSamples(texts)
	}
	s := &Samples{}
	if err := readMapping(node, string(Empirical), key{"file", into(&s.File, parsePath)}); err != nil {
		return nil, err
	}
	if s.File == "" {
		return nil, fmt.Errorf("empirical needs a file, or a list of values")
	}
	return s, nil
}

func parsePath(s string) (string, error) {
	s = strings.TrimSpace(s)
	return s, checkPath(s)
}

// yaml writes the file, or the values where there is none.
func (s *Samples) yaml() *yaml.Node {
	if s.File != "" {
		out := mapping{}
		out.text("file", s.File)
		return out.node()
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, v := range s.Values {
		list.Content = append(list.Content, scalarNode(formatNumber(v)))
	}
	return list
}
