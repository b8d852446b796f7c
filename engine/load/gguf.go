package load

import (
	"encoding/json"
	"fmt"

	"github.com/llmctl/llmctl/internal/tokenizer/hf"
	"github.com/llmctl/llmctl/internal/weights/gguf"
	"github.com/llmctl/llmctl/profiles"
)

// openGGUF opens a GGUF file, whose metadata hold all that a folder's files do.
func openGGUF(path string, o Options) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	m := &Model{files: f, Files: f.Paths()}
	if err := m.fillGGUF(f, o); err != nil {
		return nil, closing(fmt.Errorf("opening %s: %w", path, err), f)
	}
	return m, nil
}

func (m *Model) fillGGUF(f *gguf.File, o Options) error {
	meta := &metadata{file: f}
	meta.architecture = meta.text("general.architecture")
	words := meta.config()
	if meta.err != nil {
		return meta.err
	}
	data, err := json.Marshal(words)
	if err != nil {
		return fmt.Errorf("reading metadata: %w", err)
	}
	profile, err := profiles.ParseModel(o.Name, data)
	if err != nil {
		return fmt.Errorf("reading metadata in the words of a config.json: %w", err)
	}
	profile.Source = "GGUF metadata"
	m.Profile = *profile
	details, err := readDetails(data, m.Profile)
	if err != nil {
		return fmt.Errorf("reading metadata: %w", err)
	}
	vocabulary, ends := meta.vocabulary()
	m.ChatTemplate, m.ToolTemplate = meta.text("tokenizer.chat_template"), meta.text("tokenizer.chat_template.tool_use")
	if meta.err != nil {
		return meta.err
	}
	t, err := hf.New(vocabulary)
	if err != nil {
		return err
	}
	m.Tokenizer = t
	if vocabulary.BOS != nil {
		m.BOS = t.Name(*vocabulary.BOS)
	}
	if len(ends) > 0 {
		m.EOS = t.Name(ends[0])
	}
	return m.finish(f, ggufNames(meta.architecture, m.Profile), details, o, ends)
}
