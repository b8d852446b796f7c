package tokenizer

import (
	"strings"
	"sync"
)

// Builtin is the tokenizer of the built-in model, which begins every sequence
// with BOS.
func Builtin() Tokenizer { return builtin{} }

type builtin struct{}

// Size is Size, the constant.
func (builtin) Size() int { return Size }

// Encode looks for markers of specials only where they may stand for them.
func (builtin) Encode(dst []int32, text string, special bool) []int32 {
	if !special {
		return Encode(dst, text)
	}
	start := 0
	for at := 0; at < len(text); {
		token, size := marker(text[at:])
		if size == 0 {
			at++
			continue
		}
		dst = append(Encode(dst, text[start:at]), token)
		at += size
		start = at
	}
	return Encode(dst, text[start:])
}

// marker finds the special whose marker text begins with; of no two does one
// begin with the other.
func marker(text string) (token int32, size int) {
	if text[0] != '<' {
		return 0, 0
	}
	for i, name := range specialNames {
		if strings.HasPrefix(text, name) {
			return int32(i), len(name)
		}
	}
	return 0, 0
}

func (builtin) Begin() []int32 { return []int32{BOS} }

func (builtin) Bytes(token int32) []byte {
	if token < 0 || token >= Size {
		return nil
	}
	return index().bytes[token]
}

func (builtin) Name(token int32) string { return Name(token) }

func (builtin) Special(token int32) bool { return ClassOf(token) == Special }

func (builtin) Token(name string) (int32, bool) {
	token, ok := index().tokens[name]
	return token, ok
}

func (builtin) Decoder(bool) Decoder { return new(Stream) }

// indexed is what only programs that run a model need.
type indexed struct {
	bytes  [Size][]byte
	tokens map[string]int32 // by marker or text
}

var index = sync.OnceValue(func() *indexed {
	x := &indexed{tokens: make(map[string]int32, Size)}
	for token := range int32(Size) {
		x.bytes[token] = []byte(Text(token))
		x.tokens[Name(token)] = token // a one-byte piece after, and so over, its byte
	}
	return x
})
