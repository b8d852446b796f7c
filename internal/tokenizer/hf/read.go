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

// Read reads a tokenizer.json to count by.
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

// file is a tokenizer.json.
type file struct {
	Model         json.RawMessage `json:"model"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	AddedTokens   []addedToken    `json:"added_tokens"`
}

// Parse reads the content of a tokenizer.json to count by. What only concerns
// decoding may be of any kind.
func Parse(data []byte) (*Tokenizer, error) {
	f, t, err := parse(data)
	if err != nil {
		return nil, err
	}
	if d, err := readDecoder(f.Decoder); err == nil {
		t.decoder = d
	}
	return t, t.name(f)
}

// Options are what tokenizer_config.json says beside a tokenizer.json.
type Options struct {
	// AddBOS, if set, says whether a sequence begins with the token BOS, whatever
	// the post-processor does.
	AddBOS *bool
	BOS    string
}

// Load reads the content of a tokenizer.json for a model to run: all of it must be
// known here.
func Load(data []byte, o Options) (*Tokenizer, error) {
	f, t, err := parse(data)
	if err != nil {
		return nil, err
	}
	if t.decoder, err = readDecoder(f.Decoder); err != nil {
		return nil, err
	}
	if err = t.name(f); err != nil {
		return nil, err
	}
	if t.begin, err = readBegin(f.PostProcessor); err != nil {
		return nil, err
	}
	for _, token := range t.begin {
		if token < 0 || int(token) >= t.Size() {
			return nil, fmt.Errorf("post_processor: token %d is outside of the vocabulary of %d", token, t.Size())
		}
	}
	switch {
	case o.AddBOS == nil:
	case !*o.AddBOS:
		t.begin = nil
	default:
		bos, ok := t.Token(o.BOS)
		if !ok {
			return nil, fmt.Errorf("token %q, which begins every sequence, is not in the vocabulary", o.BOS)
		}
		t.begin = []int32{bos}
	}
	return t, nil
}

// parse reads what encoding takes.
func parse(data []byte) (*file, *Tokenizer, error) {
	f := new(file)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, nil, fmt.Errorf("reading a tokenizer.json: %w", userfile.JSONError(err))
	}
	if absent(f.Model) {
		return nil, nil, errors.New("no tokenizer.json: it has no model")
	}
	t := new(Tokenizer)
	var err error
	if t.split, err = readSplitters(f.PreTokenizer); err != nil {
		return nil, nil, err
	}
	if t.model, err = readModel(f.Model, t.split.raw); err != nil {
		return nil, nil, err
	}
	if b, ok := t.model.(*bpe); ok && !b.raw && !b.whole && wordsApart(b.vocab) {
		t.split.steps = append(t.split.steps, splitWords)
	}
	if t.normalize, err = readNormalizers(f.Normalizer); err != nil {
		return nil, nil, err
	}
	return f, t, nil
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

func readModel(part json.RawMessage, raw bool) (model, error) {
	name, err := kind(part)
	if err != nil {
		return nil, fmt.Errorf("model: %w", userfile.JSONError(err))
	}
	switch name {
	case "BPE", "": // files of before 2020 do not name it
		return readBPE(part, raw)
	case "WordPiece":
		if raw {
			return nil, errors.New("model of type WordPiece after the pre_tokenizer ByteLevel is not supported")
		}
		return readWordPiece(part)
	default:
		return nil, fmt.Errorf("model of type %q is not supported, only BPE and WordPiece are", name)
	}
}

// vocabulary of a model.
func vocabulary(m model) map[string]int32 {
	switch m := m.(type) {
	case *bpe:
		return m.vocab
	case *wordPiece:
		return m.vocab
	default:
		return nil
	}
}

// spareIDs is how many numbers a vocabulary may leave out. Real ones leave out a
// few hundred at most; without a bound, a file of one line would take gigabytes.
const spareIDs = 1 << 16

// name fills in what each token is, and which are looked for in texts.
func (t *Tokenizer) name(f *file) error {
	vocab := vocabulary(t.model)
	most := int32(len(vocab) + len(f.AddedTokens) + spareIDs)
	size := int32(0)
	for text, id := range vocab {
		if id < 0 || id >= most {
			return fmt.Errorf("model: token %q has number %d, expected 0 to %d", text, id, most-1)
		}
		size = max(size, id+1)
	}
	for i := range f.AddedTokens {
		a := &f.AddedTokens[i]
		if id, ok := vocab[a.Content]; ok {
			a.ID = &id
		}
		if a.ID == nil || *a.ID < 0 || *a.ID >= most {
			return fmt.Errorf("added_tokens: %q has no number from 0 to %d", a.Content, most-1)
		}
		size = max(size, *a.ID+1)
	}
	tokens := make([]token, size)
	for text, id := range vocab {
		text = t.decoder.text(text)
		tokens[id] = token{name: text, text: text}
	}
	for _, a := range f.AddedTokens {
		a = t.look(a)
		one := token{name: a.Content, text: a.Content, special: a.Special}
		switch {
		case a.Special:
			one.text = ""
		case a.find != a.Content && !t.split.raw:
			one.text = t.decoder.text(a.find) // with the space that normalizing put before it
		}
		tokens[*a.ID] = one
	}
	t.verbatim.sort()
	t.normalized.sort()
	t.setTokens(tokens)
	return nil
}

// look has an added token looked for in texts, and returns it with what is found.
func (t *Tokenizer) look(a addedToken) addedToken {
	a.find = a.Content
	if a.Normalized == nil && a.Special || a.Normalized != nil && !*a.Normalized {
		t.verbatim.add(a)
		return a
	}
	for _, normalize := range t.normalize {
		a.find = normalize(a.find)
	}
	t.normalized.add(a)
	return a
}
