package load

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/llmctl/llmctl/internal/tokenizer/hf"
	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/profiles"
)

// openFolder opens a folder of Hugging Face's layout.
func openFolder(dir string, o Options) (*Model, error) {
	data, err := userfile.Read(filepath.Join(dir, "config.json"), userfile.ConfigLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening model folder: %s has no config.json, expected a folder with config.json and *.safetensors, or the name of a .gguf file", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("opening model folder: %w", err)
	}
	profile, err := profiles.ParseModel(o.Name, data)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dir, err)
	}
	if q := profile.Quantization.Method; q != "" {
		return nil, fmt.Errorf("opening %s: its weights are quantized by %q, which this engine does not read: use the model in bfloat16, or a GGUF file", dir, q)
	}
	files, err := weights.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	m := &Model{Profile: *profile, files: files}
	if err := m.fill(dir, data, files, o); err != nil {
		return nil, closing(fmt.Errorf("opening %s: %w", dir, err), files)
	}
	return m, nil
}

func (m *Model) fill(dir string, data []byte, files *weights.Mapped, o Options) error {
	details, err := readDetails(data, m.Profile)
	if err != nil {
		return fmt.Errorf("reading config.json: %w", err)
	}
	beside, err := readBeside(dir)
	if err != nil {
		return err
	}
	if m.Tokenizer, err = readTokenizer(dir, beside.tokens); err != nil {
		return err
	}
	m.Sampling = beside.generation.Sampling
	m.ChatTemplate, m.ToolTemplate = beside.chat, beside.tools
	m.BOS, m.EOS = string(beside.tokens.BOS), string(beside.tokens.EOS)
	if m.BOS == "" && m.Profile.BOSToken >= 0 {
		m.BOS = m.Tokenizer.Name(int32(m.Profile.BOSToken))
	}
	eos, err := beside.ends(m)
	if err != nil {
		return err
	}
	prefix := prefixes[0]
	for _, p := range prefixes {
		if _, ok := files.Tensor(p + "embed_tokens.weight"); ok {
			prefix = p
		}
	}
	m.Files = files.Paths()
	return m.finish(files, folderNames(m.Profile, prefix), details, o, eos)
}

func readTokenizer(dir string, c tokenizerConfig) (*hf.Tokenizer, error) {
	data, err := userfile.Read(filepath.Join(dir, "tokenizer.json"), hf.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no tokenizer.json, without which texts cannot be turned into tokens: it belongs beside config.json")
	}
	if err != nil {
		return nil, err
	}
	options := hf.Options{AddBOS: c.AddBOS, BOS: string(c.BOS)}
	if c.BOS == "" {
		options.AddBOS = nil // there is nothing to add
	}
	t, err := hf.Load(data, options)
	if err != nil {
		return nil, fmt.Errorf("reading tokenizer.json: %w", err)
	}
	return t, nil
}
