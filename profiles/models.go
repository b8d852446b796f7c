package profiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/llmctl/llmctl/internal/userfile"
)

// BuiltinModel is the key of the model that ships with llmctl: a small Llama
// whose weights are made from a seed.
const BuiltinModel = "builtin"

// modelEntry is one built-in model in data/models.yaml.
type modelEntry struct {
	Key     string   `yaml:"key"`
	Config  string   `yaml:"config"`
	IDs     []string `yaml:"ids"`
	Source  string   `yaml:"source"`
	Note    string   `yaml:"note"`
	Weights string   `yaml:"weights"`
	// Quantization is a second file that says how the weights are quantized.
	Quantization string `yaml:"quantization"`
}

var modelIndex = sync.OnceValue(func() []modelEntry {
	entries := readEmbedded[[]modelEntry]("models.yaml")
	slices.SortFunc(entries, func(a, b modelEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries
})

// ModelNames returns the keys of the built-in models in order.
func ModelNames() []string {
	var names []string
	for _, e := range modelIndex() {
		names = append(names, e.Key)
	}
	return names
}

// LoadModel returns the model that ref names: a built-in key, a Hugging Face
// repository of a built-in model, a config.json, or a folder that holds one.
// Keys win over files of the same name.
func LoadModel(ref string) (*Model, error) {
	if e, ok := findModel(ref); ok {
		return e.load()
	}
	info, err := os.Stat(ref)
	switch {
	case err == nil && info.IsDir():
		return loadFolder(ref)
	case err == nil:
		data, err := userfile.Read(ref, userfile.ConfigLimit)
		if err != nil {
			return nil, fmt.Errorf("reading model config: %w", err)
		}
		return ParseModel(ref, data)
	case looksLikePath(ref):
		return nil, fmt.Errorf("reading model config: %w", err)
	}
	return nil, unknownModel(ref)
}

// findModel looks ref up among keys and repositories, without regard to case.
func findModel(ref string) (modelEntry, bool) {
	for _, e := range modelIndex() {
		if strings.EqualFold(e.Key, ref) || slices.ContainsFunc(e.IDs, func(id string) bool { return strings.EqualFold(id, ref) }) {
			return e, true
		}
	}
	return modelEntry{}, false
}

func (e modelEntry) load() (*Model, error) {
	data, err := fs.ReadFile(embedded, "data/configs/"+e.Config)
	if err != nil {
		return nil, fmt.Errorf("reading built-in model %s: %w", e.Key, err)
	}
	m, err := ParseModel(e.Key, data)
	if err != nil {
		return nil, err
	}
	m.IDs, m.Source = e.IDs, e.Source
	switch {
	case e.Weights != "":
		m.Quantization, err = ParseWeightFormat(e.Weights)
	case e.Quantization != "":
		if data, err = fs.ReadFile(embedded, "data/configs/"+e.Quantization); err == nil {
			m.Quantization, err = parseQuantConfig(data)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading built-in model %s: %w", e.Key, err)
	}
	return m, nil
}

// loadFolder reads config.json, beside it hf_quant_config.json, in which
// ModelOptimizer states the quantization when config.json is silent, and the
// headers of safetensors files where there are any.
func loadFolder(dir string) (*Model, error) {
	data, err := userfile.Read(filepath.Join(dir, "config.json"), userfile.ConfigLimit)
	if err != nil {
		return nil, fmt.Errorf("reading model folder: %w", err)
	}
	m, err := ParseModel(dir, data)
	if err != nil {
		return nil, err
	}
	if m.Quantization.Method == "" {
		if err := readCompanion(dir, m); err != nil {
			return nil, err
		}
	}
	if m.Stored, err = readStored(dir, m); err != nil {
		return nil, fmt.Errorf("reading weights of %s: %w", dir, err)
	}
	return m, nil
}

// readCompanion reads hf_quant_config.json, if it is there.
func readCompanion(dir string, m *Model) error {
	data, err := userfile.Read(filepath.Join(dir, "hf_quant_config.json"), userfile.ConfigLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading model folder: %w", err)
	}
	if m.Quantization, err = parseQuantConfig(data); err != nil {
		return fmt.Errorf("reading hf_quant_config.json of %s: %w", dir, err)
	}
	return nil
}

func looksLikePath(ref string) bool {
	return strings.HasSuffix(ref, ".json") || strings.HasPrefix(ref, ".") || filepath.IsAbs(ref)
}

// unknownModel suggests a key, or a repository when ref looks like one.
func unknownModel(ref string) error {
	known := ModelNames()
	if strings.Contains(ref, "/") {
		for _, e := range modelIndex() {
			known = append(known, e.IDs...)
		}
	}
	return unknown("model", ref, known, "expected a name from `llmctl profiles models`, a config.json or a folder with one")
}

// ModelConfig returns the config.json of a built-in model, which can be edited
// and passed back as a file.
func ModelConfig(ref string) ([]byte, error) {
	e, ok := findModel(ref)
	if !ok {
		return nil, unknownModel(ref)
	}
	return fs.ReadFile(embedded, "data/configs/"+e.Config)
}
