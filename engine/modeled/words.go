package modeled

import "github.com/llmctl/llmctl/internal/tokenizer"

// word is the token at a place of a sequence. It depends on nothing but the seed
// of the request and the place, so that a request which is computed again after a
// preemption goes on as before. All words carry a leading space: the text of an
// answer, sent back as part of a longer conversation, becomes the same tokens,
// and so finds them in the prefix cache.
func word(seed uint64, at int) int32 {
	return spaced[mix(seed, uint64(at))%uint64(len(spaced))]
}

// spaced are the tokens that are words with a space before them.
var spaced = func() (out []int32) {
	for t := range int32(tokenizer.Size) {
		if tokenizer.ClassOf(t) == tokenizer.SpacedWord {
			out = append(out, t)
		}
	}
	return out
}()

// mix spreads two numbers over 64 bits (SplitMix64; Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", 2014).
func mix(a, b uint64) uint64 {
	z := a*0xd1342543de82ef95 + (b+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
