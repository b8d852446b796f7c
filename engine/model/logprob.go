package model

// Logprob is the natural logarithm of a token's probability, before temperature and
// filters, with those of the likeliest tokens in its place.
type Logprob struct {
	Token   int32
	Logprob float32 // −Inf: impossible
	Rank    int     // 1 for the likeliest
	Top     []TokenLogprob
}

// TokenLogprob is one alternative.
type TokenLogprob struct {
	Token   int32
	Logprob float32
}

// Guide says which tokens may come next in one answer. Sampling uses it from one
// goroutine at a time.
type Guide interface {
	// Mask sets the bit of every token that may come next and clears all others:
	// token t is bit t%64 of word t/64.
	Mask(allowed []uint64)
	// Accept goes on behind a token; false when it was not allowed, which changes
	// nothing.
	Accept(token int32) bool
	// Rollback takes back the last n tokens.
	Rollback(n int)
}
