package tokenizer

// Tokenizer turns text into a model's tokens and back. It is safe for concurrent
// use.
type Tokenizer interface {
	// Size is the number of tokens: they are 0 … Size−1. Some may have no text.
	Size() int
	// Encode appends the tokens of text to dst, without any that begin or end a
	// sequence. With special, texts of special tokens in it become these tokens, as
	// a rendered chat template needs; without, they are ordinary text, so that a
	// user cannot forge the borders of a message.
	Encode(dst []int32, text string, special bool) []int32
	// Begin are the tokens that the model wants before a sequence; often one, or
	// none.
	Begin() []int32
	// Bytes is what a token adds to a text, as it stands in the middle of one: often
	// no whole UTF-8 characters. It is empty for special tokens and for those
	// without a text. The caller must not change it.
	Bytes(token int32) []byte
	// Name is a token as a person reads it, specials by their marker.
	Name(token int32) string
	// Special says whether a token marks something instead of being text.
	Special(token int32) bool
	// Token finds a token by its marker or its text, exactly.
	Token(name string) (token int32, ok bool)
	// Decoder starts the text of a sequence. begins is true where nothing stands
	// before it: SentencePiece models drop one space there.
	Decoder(begins bool) Decoder
}

// Decoder turns the tokens of one sequence into text, one at a time, and never cuts
// a UTF-8 character in two: bytes that may still become a character are held until
// they do, or until they cannot.
type Decoder interface {
	// Push adds a token and returns the text that is now complete.
	Push(token int32) string
	// Flush returns the bytes that are still held and forgets them.
	Flush() string
}
