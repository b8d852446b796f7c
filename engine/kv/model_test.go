package kv

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is the pool's contract in its plainest form: lists that are searched
// from end to end.
type model struct {
	free   []Block        // in order of eviction
	refs   map[Block]int  // of referenced blocks
	hashes map[Block]Hash // of cached blocks
	oldest []Block        // cached blocks in order of registration
}

func (m *model) allocate(n int) []Block {
	if n > len(m.free) {
		return nil
	}
	taken := slices.Clone(m.free[:n])
	m.free = slices.Clone(m.free[n:])
	for _, b := range taken {
		m.refs[b] = 1
		delete(m.hashes, b)
		m.oldest = slices.DeleteFunc(m.oldest, func(o Block) bool { return o == b })
	}
	return taken
}

func (m *model) share(hit []Block) {
	for _, b := range hit {
		m.refs[b]++
		m.free = slices.DeleteFunc(m.free, func(f Block) bool { return f == b })
	}
}

func (m *model) release(table []Block) {
	for _, b := range slices.Backward(table) {
		if m.refs[b]--; m.refs[b] == 0 {
			delete(m.refs, b)
			m.free = append(m.free, b)
		}
	}
}

func (m *model) match(hash func(int) Hash, limit int) []Block {
	var hit []Block
	for i := range limit {
		at := slices.IndexFunc(m.oldest, func(b Block) bool { return m.hashes[b] == hash(i) })
		if at < 0 {
			break
		}
		hit = append(hit, m.oldest[at])
	}
	return hit
}

// TestPoolMatchesModel runs random operations on the pool and on the model and
// requires the same blocks in the same order, and integrity after each.
func TestPoolMatchesModel(t *testing.T) { rapid.Check(t, poolMatchesModel) }

func FuzzPool(f *testing.F) { f.Fuzz(rapid.MakeFuzz(poolMatchesModel)) }

func poolMatchesModel(t *rapid.T) {
	blocks := rapid.IntRange(2, 20).Draw(t, "blocks")
	p := NewPool(blocks, 4)
	m := &model{refs: map[Block]int{}, hashes: map[Block]Hash{}}
	for b := 1; b < blocks; b++ {
		m.free = append(m.free, Block(b))
	}
	var tables [][]Block
	draw := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }
	t.Repeat(map[string]func(*rapid.T){
		"allocate": func(t *rapid.T) {
			n := draw("n", blocks+1)
			got, ok := p.Allocate(nil, n)
			want := m.allocate(n)
			if ok != (n == 0 || want != nil) || !slices.Equal(got, want) {
				t.Fatalf("Allocate(%d) = %v, %t, want %v", n, got, ok, want)
			}
			if len(got) > 0 {
				tables = append(tables, got)
			}
		},
		"hit": func(t *rapid.T) {
			first, limit := draw("first", 6), draw("limit", 5)
			hash := func(i int) Hash { return hashOf(first + i) }
			got, want := p.Match(nil, hash, limit), m.match(hash, limit)
			if !slices.Equal(got, want) {
				t.Fatalf("Match(%d…, %d) = %v, want %v", first, limit, got, want)
			}
			idle := 0
			for _, b := range want {
				if m.refs[b] == 0 {
					idle++
				}
			}
			if p.Idle(got) != idle {
				t.Fatalf("Idle(%v) = %d, want %d", got, p.Idle(got), idle)
			}
			p.Share(got)
			m.share(want)
			if len(got) > 0 {
				tables = append(tables, got)
			}
		},
		"register": func(t *rapid.T) {
			if len(tables) == 0 {
				return // nothing to do: under the fuzzer, a skipped action may be drawn for ever
			}
			table := tables[draw("table", len(tables))]
			b := table[draw("index", len(table))]
			if _, done := m.hashes[b]; done {
				return
			}
			h := hashOf(draw("hash", 6))
			p.Register(b, h)
			m.hashes[b] = h
			m.oldest = append(m.oldest, b)
		},
		"release": func(t *rapid.T) {
			if len(tables) == 0 {
				return
			}
			i := draw("table", len(tables))
			p.Release(tables[i])
			m.release(tables[i])
			tables = slices.Delete(tables, i, i+1)
		},
		"reset": func(t *rapid.T) {
			err := p.Reset()
			if (err == nil) != (len(m.refs) == 0) {
				t.Fatalf("Reset with %d blocks in use: %v", len(m.refs), err)
			}
			if err == nil {
				m.hashes, m.oldest = map[Block]Hash{}, nil
			}
		},
		"": func(t *rapid.T) {
			if err := p.CheckIntegrity(slices.Values(tables)); err != nil {
				t.Fatal(err)
			}
			got := map[string]int{"free": p.Free(), "cached": p.Cached(), "used": p.Usable() - p.Free()}
			want := map[string]int{"free": len(m.free), "cached": len(m.hashes), "used": len(m.refs)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("counts (-want +got):\n%s", diff)
			}
		},
	})
}
