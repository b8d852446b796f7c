package kv

import "fmt"

// Match appends to dst the cached blocks that hold the first blocks of a
// sequence, at most limit of them, and stops at the first that is missing.
// hash(i) is the hash of the i-th block. Nothing changes: neither the order of
// eviction nor any reference count.
func (p *Pool) Match(dst []Block, hash func(i int) Hash, limit int) []Block {
	for i := range limit {
		b, ok := p.cached[hash(i)]
		if !ok {
			break
		}
		dst = append(dst, b)
	}
	return dst
}

// Register makes the content of a referenced, full block findable. A hash that
// another block already has is fine: both keep it, and lookups find the one
// registered first. It panics when nobody holds the block or it already has a
// hash, because its content is then not what the caller believes.
func (p *Pool) Register(b Block, h Hash) {
	meta := &p.blocks[b]
	if b == Null || meta.refs <= 0 || meta.hashed {
		panic(fmt.Sprintf("kv: registering block %d with %d references (hashed: %t)", b, meta.refs, meta.hashed))
	}
	meta.hashed, meta.hash = true, h
	p.hashed++
	first, ok := p.cached[h]
	if !ok {
		p.cached[h] = b
		meta.older, meta.newer = b, b
		return
	}
	// The ring starts at the oldest block, so its end is just before it.
	last := p.blocks[first].older
	meta.older, meta.newer = last, first
	p.blocks[last].newer = b
	p.blocks[first].older = b
}

// forget removes b from the cache. Other blocks with the same content stay.
func (p *Pool) forget(b Block) {
	meta := &p.blocks[b]
	switch {
	case meta.newer == b:
		delete(p.cached, meta.hash)
	case p.cached[meta.hash] == b:
		p.cached[meta.hash] = meta.newer
	}
	p.blocks[meta.older].newer = meta.newer
	p.blocks[meta.newer].older = meta.older
	meta.older, meta.newer = Null, Null
	meta.hashed, meta.hash = false, Hash{}
	p.hashed--
}

// Reset forgets all cached content, that of the host tier included, so that the
// next requests start cold. It returns ErrInUse, and does nothing, while any block is referenced.
func (p *Pool) Reset() error {
	if p.free != p.Usable() {
		return fmt.Errorf("%w: %d of %d", ErrInUse, p.Usable()-p.free, p.Usable())
	}
	for b := range p.blocks {
		if p.blocks[b].hashed {
			p.forget(Block(b))
		}
	}
	if p.host != nil {
		p.host.reset()
	}
	return nil
}
