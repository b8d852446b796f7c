package tokenizer

import (
	_ "embed"
	"strings"
)

// Size is the number of tokens in the vocabulary.
const Size = 2048

// The special tokens. Encode never produces them, whatever the text says, so a
// user cannot forge the borders of a chat message; Decode writes nothing for
// them.
const (
	BOS       = 0
	EOS       = 1
	Pad       = 2
	System    = 3 // a chat message of the system follows
	User      = 4
	Assistant = 5
	Tool      = 6
	End       = 7 // end of a chat message
)

// Layout of the vocabulary: specials, one token per byte, pieces, words, words
// with a leading space.
const (
	firstByte   = 8
	firstPiece  = firstByte + 256
	wordCount   = 850
	firstWord   = Size - 2*wordCount
	firstSpaced = Size - wordCount
)

//go:embed words.txt
var wordList string

// pieceList holds what English text needs besides the words: white space,
// punctuation, digits, capitals and the commonest endings.
var pieceList = append(strings.Split(
	"\n,\n\n,\t,  ,    ,        ,ing,ed,er,ly,es,tion,ment,ness,'s,n't", ","),
	strings.Split(`,.!?:;'"()[]{}-_/\+=*&%$#@<>|~`+"`^"+`0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ`, "")...)

var specialNames = [firstByte]string{
	"<s>", "</s>", "<pad>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>",
}

// texts maps a token to the bytes it stands for; specials stand for none.
var texts = func() (t [Size]string) {
	for b := range 256 {
		t[firstByte+b] = string([]byte{byte(b)})
	}
	copy(t[firstPiece:firstWord], pieceList)
	for i, word := range strings.Fields(wordList) {
		t[firstWord+i] = word
		t[firstSpaced+i] = " " + word
	}
	return t
}()

// Words returns the words of the vocabulary, most common ones first by and
// large. n of them joined by single spaces encode to exactly n tokens.
func Words() []string {
	return append([]string(nil), texts[firstWord:firstSpaced]...)
}

// Text returns the bytes that a token stands for: empty for specials and for
// numbers outside the vocabulary.
func Text(token int32) string {
	if token < 0 || token >= Size {
		return ""
	}
	return texts[token]
}

// Name returns a token as a person reads it: specials by their marker, others
// as their text.
func Name(token int32) string {
	if token >= 0 && token < firstByte {
		return specialNames[token]
	}
	return Text(token)
}

// Class says what a token is for, so that a synthetic model can prefer readable
// text.
type Class int

const (
	Special     Class = iota // role markers, begin, end, padding
	Byte                     // one byte of text that has no better token
	Piece                    // punctuation, digits, endings
	Word                     // a word without a space before it
	SpacedWord               // a word with a space before it
	OutOfBounds              // no token of this vocabulary
)

// ClassOf returns the class of a token.
func ClassOf(token int32) Class {
	switch {
	case token < 0 || token >= Size:
		return OutOfBounds
	case token < firstByte:
		return Special
	case token < firstPiece:
		return Byte
	case token < firstWord:
		return Piece
	case token < firstSpaced:
		return Word
	default:
		return SpacedWord
	}
}
