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

// blockHashes are the hashes of a prompt's whole blocks. Each covers the blocks
// before it too.
func blockHashes(texts []string) (hashes []uint64) {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	n := 0
	for _, text := range texts {
		for word := range words(text) {
			_, _ = h.WriteString(word) // never fails
			_ = h.WriteByte(0)
			if n++; n%prefixBlock == 0 {
				hashes = append(hashes, h.Sum64())
			}
		}
	}
	return hashes
}

// prefixCache remembers which prefixes of prompts have been seen.
type prefixCache map[uint64]struct{}

// add remembers a prompt by its blocks, and returns how many of its first words
// were known.
func (c *prefixCache) add(blocks []uint64) (known int) {
	if *c == nil || len(*c) >= prefixBlocks {
		*c = prefixCache{}
	}
	for i, hash := range blocks {
		if _, ok := (*c)[hash]; ok && known == i*prefixBlock {
			known += prefixBlock
		}
		(*c)[hash] = struct{}{}
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
