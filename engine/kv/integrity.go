package kv

import (
	"fmt"
	"iter"
)

// CheckIntegrity verifies the pool against the block tables of everybody who
// uses it and returns the first fault it finds:
//
//   - every block's reference count is the number of tables it occurs in;
//   - the free list holds exactly the unreferenced blocks, each once, but for those
//     that were never taken, so that
//     free + cached-free + referenced = N−1;
//   - every cached hash leads to a ring of blocks that all carry that hash, and
//     every block that carries a hash is in such a ring;
//   - the null block is in no table and carries no hash.
//
// It reads the whole pool; it is meant for tests and for a debug endpoint.
func (p *Pool) CheckIntegrity(tables iter.Seq[[]Block]) error {
	refs := make([]int32, len(p.blocks))
	for table := range tables {
		for _, b := range table {
			if b <= Null || int(b) >= len(p.blocks) {
				return fmt.Errorf("block table contains block %d of a pool of %d", b, len(p.blocks))
			}
			refs[b]++
		}
	}
	for b := range p.blocks {
		if refs[b] != p.blocks[b].refs {
			return fmt.Errorf("block %d has %d references, but is in %d tables", b, p.blocks[b].refs, refs[b])
		}
	}
	if err := p.checkFreeList(); err != nil {
		return err
	}
	return p.checkCache()
}

func (p *Pool) checkFreeList() error {
	seen := make([]bool, len(p.blocks))
	count := p.usable + 1 - len(p.blocks) // never taken
	for b := p.blocks[Null].next; b != Null; b = p.blocks[b].next {
		if seen[b] {
			return fmt.Errorf("free list visits block %d twice", b)
		}
		seen[b] = true
		count++
		if p.blocks[b].refs != 0 {
			return fmt.Errorf("free list contains block %d with %d references", b, p.blocks[b].refs)
		}
		if p.blocks[p.blocks[b].next].prev != b {
			return fmt.Errorf("free list is not linked back at block %d", b)
		}
	}
	referenced := 0
	for b := 1; b < len(p.blocks); b++ {
		if p.blocks[b].refs > 0 {
			referenced++
		}
	}
	if count != p.free || count+referenced != p.Usable() {
		return fmt.Errorf("%d blocks on the free list, %d counted as free and %d referenced do not make %d",
			count, p.free, referenced, p.Usable())
	}
	return nil
}

func (p *Pool) checkCache() error {
	inRing := make([]bool, len(p.blocks))
	for h, first := range p.cached {
		for b := first; ; b = p.blocks[b].newer {
			meta := p.blocks[b]
			if b == Null || !meta.hashed || meta.hash != h || inRing[b] {
				return fmt.Errorf("cached hash %x leads to block %d, which does not hold it", h, b)
			}
			inRing[b] = true
			if p.blocks[meta.newer].older != b {
				return fmt.Errorf("ring of hash %x is not linked back at block %d", h, b)
			}
			if meta.newer == first {
				break
			}
		}
	}
	count := 0
	for b := range p.blocks {
		if p.blocks[b].hashed != inRing[b] {
			return fmt.Errorf("block %d carries a hash (%t), but is in the cache (%t)", b, p.blocks[b].hashed, inRing[b])
		}
		if inRing[b] {
			count++
		}
	}
	if count != p.hashed {
		return fmt.Errorf("%d blocks in the cache, but %d counted", count, p.hashed)
	}
	return nil
}
