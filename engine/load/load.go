package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/profiles"
)

// Options say how a model will be run.
type Options struct {
	Name        string // of the model; empty is that of the folder or file
	MaxModelLen int    // longest sequence, by which some rotary embeddings are chosen; 0 is the model's window
}

// Model is a model that can be run.
type Model struct {
	Weights   *model.Weights
	Tokenizer tokenizer.Tokenizer
	Profile   profiles.Model // what its config says
	Sampling  Sampling       // what its generation_config.json recommends
	Files     []string       // that hold the weights

	// ChatTemplate is in Jinja; empty when the model has none. ToolTemplate is the
	// one for requests with tools, where the model has one of its own.
	ChatTemplate, ToolTemplate string
	BOS, EOS                   string // markers, as templates name them; may be empty

	files io.Closer
}

// Close unmaps the files. The weights must not be used any more.
func (m *Model) Close() error { return m.files.Close() }

// Open opens a folder of Hugging Face's layout or a GGUF file.
func Open(path string, o Options) (*Model, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("opening model: %w", err)
	case o.MaxModelLen < 0:
		return nil, fmt.Errorf("opening model: sequences of %d tokens, expected 1 or more, or 0 for the model's window", o.MaxModelLen)
	}
	if o.Name == "" {
		o.Name = name(path)
	}
	switch {
	case info.IsDir() && strings.EqualFold(filepath.Ext(path), ".gguf"):
		if _, err := os.Stat(filepath.Join(path, "config.json")); err != nil {
			return nil, fmt.Errorf("opening model: %s is a folder without config.json, expected a GGUF file, or a folder with config.json and *.safetensors", path)
		}
		return openFolder(path, o)
	case info.IsDir():
		return openFolder(path, o)
	case strings.EqualFold(filepath.Ext(path), ".gguf"):
		return openGGUF(path, o)
	}
	return nil, fmt.Errorf("opening model: %s is neither a folder with config.json and *.safetensors nor a *.gguf file", path)
}

// name is the last part of a path.
func name(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	base := filepath.Base(path)
	if ext := filepath.Ext(base); strings.EqualFold(ext, ".gguf") {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

// closing closes what a failed opening holds.
func closing(err error, c io.Closer) error { return errors.Join(err, c.Close()) }

// finish makes the weights of a model whose profile is known, and checks that the
// tokenizer is of the same model.
func (m *Model) finish(src source, n names, d model.Details, o Options, eos []int32) error {
	d.Positions = o.MaxModelLen
	shape, err := model.ShapeWith(m.Profile, d)
	if err != nil {
		return err
	}
	for _, token := range eos {
		if token < 0 || int(token) >= shape.Vocab {
			return fmt.Errorf("token %d, which ends a text, is outside of the vocabulary of %d", token, shape.Vocab)
		}
	}
	if len(eos) > 0 {
		shape.EOS = eos
	}
	if err := checkTokenizer(m.Tokenizer, shape.Vocab); err != nil {
		return err
	}
	m.Weights, err = assemble(src, n, shape, m.Profile)
	return err
}

// checkTokenizer refuses a tokenizer that makes tokens of texts that the model does
// not have. Markers beyond its vocabulary are common: Gemma 3's text models share the
// tokenizer of those that see.
func checkTokenizer(t tokenizer.Tokenizer, vocab int) error {
	for token := vocab; token < t.Size(); token++ {
		if id := int32(token); !t.Special(id) && t.Name(id) != "" {
			return fmt.Errorf("the tokenizer has token %d, %.40q, beyond the model's vocabulary of %d: it is another model's", id, t.Name(id), vocab)
		}
	}
	return nil
}
