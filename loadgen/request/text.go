package request

import (
	"hash/fnv"
	"math/rand/v2"
)

// purpose separates the texts that have the same number.
type purpose uint64

const (
	groupText  purpose = iota + 1 // by prefix group
	prefixText                    // by turn: a prefix that nobody shares
	ownText                       // by turn
	blockText                     // by id of a block of a trace
	probeText                     // of calibration
)

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014): neighbours
// in, unrelated numbers out.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// textSeed joins the seed of a workload and the salt of a run.
func textSeed(seed uint64, salt string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(salt)) // never fails
	return mix(seed) ^ h.Sum64()
}

// text draws words without end, the same for the same seed, purpose and number.
// It goes through the whole list in a new order again and again, so that long
// texts hold each word equally often and their tokens hardly vary.
type text struct {
	pcg   rand.PCG
	words []string
	order []uint16
	at    int
}

func newText(words []string, seed uint64, why purpose, number uint64) *text {
	t := &text{words: words, order: make([]uint16, len(words))}
	for i := range t.order {
		t.order[i] = uint16(i)
	}
	t.pcg.Seed(mix(seed^mix(uint64(why))), mix(number))
	return t
}

// appendStart appends the digit that a text starts with.
func (t *text) appendStart(b []byte) []byte {
	return append(b, '0'+byte(t.below(10)))
}

// appendWords appends n words, each with a space before it.
func (t *text) appendWords(b []byte, n int) []byte {
	for range n {
		if t.at == len(t.order) {
			t.at = 0
		}
		// One step of Fisher and Yates.
		other := t.at + t.below(len(t.order)-t.at)
		t.order[t.at], t.order[other] = t.order[other], t.order[t.at]
		b = append(b, ' ')
		b = append(b, t.words[t.order[t.at]]...)
		t.at++
	}
	return b
}

// below draws a number from 0 to n−1, n < 2³².
func (t *text) below(n int) int {
	return int(t.pcg.Uint64() >> 32 * uint64(n) >> 32)
}

// bytesPerWord is how much room a text needs: English words of the list have
// about five letters.
const bytesPerWord = 7

// write returns a text of n words, n ≥ 1, of which the digit is the first.
func write(words []string, seed uint64, why purpose, number uint64, n int) string {
	t := newText(words, seed, why, number)
	b := t.appendStart(make([]byte, 0, n*bytesPerWord))
	return string(t.appendWords(b, n-1))
}
