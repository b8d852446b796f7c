package hf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Vocabulary is what the metadata of a GGUF file says of a tokenizer, by the keys
// tokenizer.ggml.*
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#ggml).
type Vocabulary struct {
	Model  string    // model: "gpt2" for byte-level BPE, "llama" for SentencePiece
	Pre    string    // pre: how texts are split for gpt2; "" for "default"
	Tokens []string  // tokens
	Scores []float32 // scores, which llama needs
	Types  []int32   // token_type; none where all are normal
	Merges []string  // merges, "a b", which gpt2 needs

	BOS     *int32  // bos_token_id
	Unknown *int32  // unknown_token_id
	Ends    []int32 // eos_token_id, eot_token_id and their like: special, whatever their type

	AddBOS         *bool // add_bos_token; the model's habit where it is not said
	AddSpacePrefix *bool // add_space_prefix, for llama; true where it is not said
	TrimMarkers    bool  // white space after markers goes, as Phi-3 has it, whose file can not say so
}

// The types of tokens in a GGUF file.
const (
	typeNormal      = 1
	typeUnknown     = 2
	typeControl     = 3
	typeUserDefined = 4
	typeUnused      = 5
	typeByte        = 6
)

// splits are what llama.cpp (llama-vocab.cpp) makes of the names that
// tokenizer.ggml.pre has: patterns, which isolate one after another.
var splits = map[string][]string{
	"default":   {`[\p{P}\$\+<=>\^~\|]+`, gpt2, `\p{N}+`, `[0-9][0-9][0-9]`},
	"gpt-2":     {gpt2},
	"llama-bpe": {llama3},
	"qwen2":     {qwen2},
	"smollm":    {eachNumber, gpt2},
}

// sameSplit are names for the same patterns.
var sameSplit = map[string]string{
	"": "default", "llama3": "llama-bpe", "llama-v3": "llama-bpe", "falcon3": "llama-bpe",
	"pixtral": "llama-bpe", "lfm2": "llama-bpe",
	"deepseek-r1-qwen": "qwen2", "stablelm2": "qwen2",
	"mpt": "gpt-2", "olmo": "gpt-2", "jais": "gpt-2", "phi-2": "gpt-2", "trillion": "gpt-2",
	"starcoder": "smollm", "refact": "smollm", "command-r": "smollm", "codeshell": "smollm",
	"exaone": "smollm", "minerva-7b": "smollm",
}

// New makes the tokenizer of a vocabulary. It encodes as llama.cpp does, but that
// of two markers which overlap in a text the first one counts and not the longest.
func New(v Vocabulary) (*Tokenizer, error) {
	t, err := v.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("tokenizer of a GGUF file: %w", err)
	}
	return t, nil
}

func (v *Vocabulary) tokenizer() (*Tokenizer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	vocab := make(map[string]int32, len(v.Tokens))
	for id, text := range v.Tokens {
		if text == "" {
			continue // nothing is written so, and nothing written by it
		}
		if first, twice := vocab[text]; twice {
			return nil, fmt.Errorf("tokens %d and %d are both %q", first, id, text)
		}
		vocab[text] = int32(id)
	}
	t := new(Tokenizer)
	addBOS := true
	switch v.Model {
	case "gpt2":
		pre := v.pre()
		addBOS = pre == "llama-bpe"
		if err := v.byteLevel(t, vocab, pre); err != nil {
			return nil, err
		}
	case "llama":
		v.sentencePiece(t, vocab)
	}
	if v.AddBOS != nil {
		addBOS = *v.AddBOS
	}
	if addBOS {
		if v.BOS == nil {
			return nil, errors.New("a sequence begins with the token bos_token_id, which is missing")
		}
		t.begin = []int32{*v.BOS}
	}
	v.name(t)
	return t, nil
}

// pre is the name of v.Pre that splits has.
func (v *Vocabulary) pre() string {
	if same, ok := sameSplit[v.Pre]; ok {
		return same
	}
	return v.Pre
}

// check refuses what does not fit together.
func (v *Vocabulary) check() error {
	n := len(v.Tokens)
	switch v.Model {
	case "gpt2":
		if _, ok := splits[v.pre()]; !ok {
			return fmt.Errorf("tokenizer.ggml.pre %q is not supported", v.Pre)
		}
	case "llama":
		if len(v.Scores) != n {
			return fmt.Errorf("%d scores for %d tokens", len(v.Scores), n)
		}
	default:
		return fmt.Errorf("tokenizer.ggml.model %q is not supported, only gpt2 and llama are", v.Model)
	}
	if n == 0 {
		return errors.New("no tokens")
	}
	if len(v.Types) != 0 && len(v.Types) != n {
		return fmt.Errorf("%d token types for %d tokens", len(v.Types), n)
	}
	ids := slices.Clone(v.Ends)
	for _, id := range []*int32{v.BOS, v.Unknown} {
		if id != nil {
			ids = append(ids, *id)
		}
	}
	for _, id := range ids {
		if id < 0 || int(id) >= n {
			return fmt.Errorf("special token %d is outside of the vocabulary of %d", id, n)
		}
	}
	return nil
}

func (v *Vocabulary) byteLevel(t *Tokenizer, vocab map[string]int32, pre string) error {
	b := newBPE(vocab, len(v.Merges), true)
	b.whole = pre == "llama-bpe"
	for rank, text := range v.Merges {
		// A piece may begin with a space in neither: GPT-2 writes it visibly.
		left, right, ok := strings.Cut(text, " ")
		if !ok {
			return fmt.Errorf("merge %q has no space between its two pieces", text)
		}
		if err := b.merge(rank, left, right); err != nil {
			return err
		}
	}
	for _, expression := range splits[pre] {
		t.split.steps = append(t.split.steps, split(expression))
	}
	t.split.raw, t.model = true, b
	t.decoder.steps = []func(string) string{func(token string) string {
		if raw, ok := unseen(token); ok {
			return string(raw)
		}
		return token
	}}
	return nil
}

func (v *Vocabulary) sentencePiece(t *Tokenizer, vocab map[string]int32) {
	unknown := int32(noID)
	if v.Unknown != nil {
		unknown = *v.Unknown
	}
	m := newSPM(vocab, v.Scores, unknown)
	for i := range m.bytes {
		if id, ok := vocab[fmt.Sprintf("<0x%02X>", i)]; ok {
			m.bytes[i] = id
		}
	}
	prefix := ""
	if v.AddSpacePrefix == nil || *v.AddSpacePrefix {
		prefix, t.decoder.strip = blank, " "
	}
	t.normalize = []normalizer{func(text string) string { return prefix + strings.ReplaceAll(text, " ", blank) }}
	if wordsApart(vocab) {
		t.split.steps = []splitter{splitWords}
	}
	t.model = m
	t.decoder.steps = []func(string) string{strings.NewReplacer(blank, " ").Replace}
}

// name fills in what each token is, and which are looked for in texts.
func (v *Vocabulary) name(t *Tokenizer) {
	tokens := make([]token, len(v.Tokens))
	for i, text := range v.Tokens {
		id, kind := int32(i), int32(typeNormal)
		if len(v.Types) > 0 {
			kind = v.Types[i]
		}
		if slices.Contains(v.Ends, id) {
			kind = typeControl
		}
		special := kind == typeControl || kind == typeUnknown
		switch {
		case special:
			tokens[i] = token{name: text, special: true}
		case kind == typeUserDefined:
			tokens[i] = token{name: text, text: text}
		case kind == typeByte:
			b := byteOf(text)
			tokens[i] = token{name: b, text: b}
		case kind == typeUnused:
			tokens[i] = token{name: text}
		default:
			text = t.decoder.text(text)
			tokens[i] = token{name: text, text: text}
		}
		if special || kind == typeUserDefined {
			t.verbatim.add(addedToken{ID: &id, Special: special, RStrip: v.trims(text), find: text})
		}
	}
	t.verbatim.sort()
	t.setTokens(tokens)
}

// trims says whether white space after a token goes.
func (v *Vocabulary) trims(text string) bool {
	return v.TrimMarkers && text != "<unk>" && text != "<s>" && text != "<|endoftext|>"
}
