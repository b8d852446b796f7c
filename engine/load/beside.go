package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/llmctl/llmctl/internal/userfile"
)

// Sampling is what a model's publisher recommends; nil is nothing. vLLM takes it
// where a request does not say (--generation-config auto).
type Sampling struct {
	Temperature       *float32 `json:"temperature"`
	TopP              *float32 `json:"top_p"`
	TopK              *int     `json:"top_k"`
	MinP              *float32 `json:"min_p"`
	RepetitionPenalty *float32 `json:"repetition_penalty"`
	MaxNewTokens      *int     `json:"max_new_tokens"`
}

// generation is generation_config.json.
type generation struct {
	Sampling
	EOS tokenList `json:"eos_token_id"`
}

// tokenizerConfig is tokenizer_config.json.
type tokenizerConfig struct {
	BOS    marker          `json:"bos_token"`
	EOS    marker          `json:"eos_token"`
	AddBOS *bool           `json:"add_bos_token"`
	Chat   json.RawMessage `json:"chat_template"`
}

// beside are the files beside config.json, all of which may be missing.
type beside struct {
	tokens      tokenizerConfig
	generation  generation
	chat, tools string // templates
}

func readBeside(dir string) (*beside, error) {
	b := new(beside)
	for _, f := range []struct {
		name string
		to   any
	}{{"tokenizer_config.json", &b.tokens}, {"generation_config.json", &b.generation}} {
		if _, err := readJSON(dir, f.name, f.to); err != nil {
			return nil, err
		}
	}
	return b, b.readTemplates(dir)
}

// readTemplates takes chat templates from where the newest writers put them:
// a file of their own, then one of JSON, then tokenizer_config.json.
func (b *beside) readTemplates(dir string) error {
	text, err := userfile.Read(filepath.Join(dir, "chat_template.jinja"), userfile.ConfigLimit)
	switch {
	case err == nil:
		b.chat = string(text)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var file struct {
		Chat json.RawMessage `json:"chat_template"`
	}
	name, templates := "chat_template.json", &file.Chat
	if found, err := readJSON(dir, name, &file); err != nil {
		return err
	} else if !found {
		name, templates = "tokenizer_config.json", &b.tokens.Chat
	}
	if b.chat, b.tools, err = parseTemplates(*templates); err != nil {
		return fmt.Errorf("reading %s: chat_template: %w", name, err)
	}
	return nil
}

// parseTemplates reads one template, or a list of named ones.
func parseTemplates(data json.RawMessage) (chat, tools string, err error) {
	if len(data) == 0 || json.Unmarshal(data, &chat) == nil {
		return chat, "", nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(data, &list); err != nil {
		return "", "", errors.New("expected text or a list of names and templates")
	}
	for _, t := range list {
		switch t.Name {
		case "default":
			chat = t.Template
		case "tool_use":
			tools = t.Template
		}
	}
	return chat, tools, nil
}

// ends are the tokens that end a text: the tokenizer's, and those that
// generation_config.json names or, where it names none, config.json.
func (b *beside) ends(m *Model) ([]int32, error) {
	var ends []int32
	if name := string(b.tokens.EOS); name != "" {
		token, ok := m.Tokenizer.Token(name)
		if !ok {
			return nil, fmt.Errorf("eos_token %.40q of tokenizer_config.json is not in tokenizer.json", name)
		}
		ends = append(ends, token)
	}
	more := b.generation.EOS
	if len(more) == 0 {
		for _, token := range m.Profile.EOSTokens {
			more = append(more, int32(token))
		}
	}
	for _, token := range more {
		if !slices.Contains(ends, token) {
			ends = append(ends, token)
		}
	}
	if m.EOS == "" && len(ends) > 0 {
		m.EOS = m.Tokenizer.Name(ends[0])
	}
	return ends, nil
}

// readJSON reads a file of a folder into a value; false if there is none.
func readJSON(dir, name string, to any) (found bool, err error) {
	data, err := userfile.Read(filepath.Join(dir, name), userfile.ConfigLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return false, fmt.Errorf("reading %s: %w", name, userfile.JSONError(err))
	}
	return true, nil
}

// marker is a special token, written as its text or as an object with it.
type marker string

// UnmarshalJSON reads both.
func (m *marker) UnmarshalJSON(data []byte) error {
	var object struct{ Content string }
	if len(data) > 0 && data[0] == '{' {
		err := json.Unmarshal(data, &object)
		*m = marker(object.Content)
		return err
	}
	return json.Unmarshal(data, (*string)(m))
}

// tokenList is a token or a list of them.
type tokenList []int32

// UnmarshalJSON reads both.
func (l *tokenList) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]int32)(l))
	}
	var one *int32
	if err := json.Unmarshal(data, &one); err != nil || one == nil {
		return err
	}
	*l = tokenList{*one}
	return nil
}
