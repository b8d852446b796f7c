package hf

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/llmctl/llmctl/internal/userfile"
)

// wordPiece takes the longest beginning of a word that is in the vocabulary,
// again and again (Schuster and Nakajima 2012, as BERT has it). A word that can
// not be made of pieces is one unknown token.
type wordPiece struct {
	vocab    map[string]int32
	unknown  int32
	prefix   string // of pieces inside a word
	longest  int    // bytes of a piece
	maxRunes int    // of a word; longer ones are unknown
}

func readWordPiece(part json.RawMessage) (*wordPiece, error) {
	var file struct {
		Vocab    map[string]int32 `json:"vocab"`
		Unknown  *string          `json:"unk_token"`
		Prefix   *string          `json:"continuing_subword_prefix"`
		MaxRunes *int             `json:"max_input_chars_per_word"`
	}
	if err := json.Unmarshal(part, &file); err != nil {
		return nil, fmt.Errorf("model: %w", userfile.JSONError(err))
	}
	if len(file.Vocab) == 0 {
		return nil, fmt.Errorf("model: no vocabulary")
	}
	w := &wordPiece{vocab: file.Vocab, prefix: "##", maxRunes: 100}
	name := "[UNK]"
	if file.Unknown != nil {
		name = *file.Unknown
	}
	var ok bool
	if w.unknown, ok = file.Vocab[name]; !ok {
		return nil, fmt.Errorf("model: unk_token %q is not in the vocabulary", name)
	}
	if file.Prefix != nil {
		w.prefix = *file.Prefix
	}
	if file.MaxRunes != nil {
		w.maxRunes = *file.MaxRunes
	}
	for piece := range file.Vocab {
		w.longest = max(w.longest, len(piece))
	}
	return w, nil
}

func (w *wordPiece) encode(dst []int32, word string, _ *scratch) []int32 {
	if utf8.RuneCountInString(word) > w.maxRunes {
		return append(dst, w.unknown)
	}
	from, prefix := len(dst), ""
	for at := 0; at < len(word); {
		id, end := int32(noID), min(len(word), at+w.longest)
		for ; end > at; end-- {
			if found, ok := w.vocab[prefix+word[at:end]]; ok {
				id = found
				break
			}
		}
		if id == noID {
			return append(dst[:from], w.unknown)
		}
		dst = append(dst, id)
		at, prefix = end, w.prefix
	}
	return dst
}
