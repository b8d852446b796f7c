package mock

import "hash/maphash"

// prefixBlock is how many words a block of the prefix cache holds: vLLM's
// default block size.
const prefixBlock = 16

// prefixBlocks is how many blocks the cache remembers. A full one forgets
// everything, which is crude, and cheap.
const prefixBlocks = 1 << 20

// hashSeed makes hashes those of this process; only whether two are equal
// matters to the prefix cache.
var hashSeed = maphash.MakeSeed()

// prefixCache remembers which prefixes of prompts have been seen, in blocks of
// words. Each block's hash covers those before it.
type prefixCache map[uint64]struct{}

// add remembers a prompt, and returns how many of its first words were known.
// Only whole blocks count.
func (c *prefixCache) add(texts []string) (known int) {
	if *c == nil || len(*c) >= prefixBlocks {
		*c = prefixCache{}
	}
	var h maphash.Hash
	h.SetSeed(hashSeed)
	n, miss := 0, false
	for _, text := range texts {
		for word := range words(text) {
			_, _ = h.WriteString(word) // never fails
			_ = h.WriteByte(0)
			if n++; n%prefixBlock != 0 {
				continue
			}
			if _, ok := (*c)[h.Sum64()]; !ok {
				miss = true
				(*c)[h.Sum64()] = struct{}{}
			}
			if !miss {
				known = n
			}
		}
	}
	return known
}

// hashText is a hash that is the same in every process (FNV-1a).
func hashText(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
