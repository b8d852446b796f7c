package hf

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/llmctl/llmctl/internal/userfile"
)

// MaxBytes is the largest tokenizer.json that Read takes. The largest ones of
// 2026 have about 35 MB.
const MaxBytes = 128 << 20

// Tokenizer counts tokens. It may be used from any goroutine.
type Tokenizer struct {
	added     addedTokens
	normalize []normalizer
	split     []splitter
	model     model
}

// model counts the tokens of one piece of text, which is not empty.
type model interface {
	count(piece string) int
}

// Read reads a tokenizer.json.
func Read(path string) (*Tokenizer, error) {
	data, err := userfile.Read(path, MaxBytes)
	if err != nil {
		return nil, err
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Parse reads the content of a tokenizer.json.
func Parse(data []byte) (*Tokenizer, error) {
	var file struct {
		Model        json.RawMessage `json:"model"`
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		AddedTokens  []addedToken    `json:"added_tokens"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading a tokenizer.json: %w", userfile.JSONError(err))
	}
	if absent(file.Model) {
		return nil, errors.New("no tokenizer.json: it has no model")
	}
	t := &Tokenizer{added: newAddedTokens(file.AddedTokens)}
	var err error
	if t.model, err = readModel(file.Model); err != nil {
		return nil, err
	}
	if t.normalize, err = readNormalizers(file.Normalizer); err != nil {
		return nil, err
	}
	if t.split, err = readSplitters(file.PreTokenizer); err != nil {
		return nil, err
	}
	return t, nil
}

func absent(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// kind is what each part of the file names itself.
func kind(part json.RawMessage) (string, error) {
	var k struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(part, &k)
	return k.Type, err
}

func readModel(part json.RawMessage) (model, error) {
	name, err := kind(part)
	if err != nil {
		return nil, fmt.Errorf("model: %w", userfile.JSONError(err))
	}
	switch name {
	case "BPE", "": // files of before 2020 do not name it
		return readBPE(part)
	case "WordPiece":
		return readWordPiece(part)
	default:
		return nil, fmt.Errorf("model of type %q is not supported, only BPE and WordPiece are; leave --tokenizer out to calibrate by the server's usage", name)
	}
}

// Count returns how many tokens a text has, without those that a model wants at
// its beginning or end.
func (t *Tokenizer) Count(text string) (n int) {
	first := true
	t.added.parts(text, func(part string, added bool) {
		if added {
			n++
		} else {
			n += t.plain(part, first)
		}
		first = false
	})
	return n
}

// plain counts a text that holds no added tokens. first says that nothing stands
// before it.
func (t *Tokenizer) plain(text string, first bool) (n int) {
	for _, normalize := range t.normalize {
		text = normalize(text)
	}
	pieces := []string{text}
	for _, split := range t.split {
		var finer []string
		for i, piece := range pieces {
			finer = split(finer, piece, first && i == 0)
		}
		pieces = finer
	}
	for _, piece := range pieces {
		if piece != "" {
			n += t.model.count(piece)
		}
	}
	return n
}
