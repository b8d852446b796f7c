package kv

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hashOf returns a distinct hash for each number.
func hashOf(n int) Hash { return Hash{byte(n), byte(n >> 8), 1} }

func allocate(t *testing.T, p *Pool, n int) []Block {
	t.Helper()
	table, ok := p.Allocate(nil, n)
	if !ok {
		t.Fatalf("Allocate(%d) with %d free", n, p.Free())
	}
	return table
}

func check(t *testing.T, p *Pool, tables ...[]Block) {
	t.Helper()
	if err := p.CheckIntegrity(slices.Values(tables)); err != nil {
		t.Fatal(err)
	}
}

func TestBlocksFor(t *testing.T) {
	for _, tc := range []struct{ tokens, blockSize, want int }{
		{0, 16, 0}, {1, 16, 1}, {15, 16, 1}, {16, 16, 1}, {17, 16, 2}, {7, 1, 7},
	} {
		if got := BlocksFor(tc.tokens, tc.blockSize); got != tc.want {
			t.Errorf("BlocksFor(%d, %d) = %d, want %d", tc.tokens, tc.blockSize, got, tc.want)
		}
	}
}

func TestNullBlockIsNeverAllocated(t *testing.T) {
	p := NewPool(5, 16)
	if p.Usable() != 4 || p.Free() != 4 || p.Usage() != 0 {
		t.Fatalf("new pool of 5: %d usable, %d free, usage %v", p.Usable(), p.Free(), p.Usage())
	}
	table := allocate(t, p, 4)
	if diff := cmp.Diff([]Block{1, 2, 3, 4}, table); diff != "" {
		t.Errorf("blocks of a fresh pool (-want +got):\n%s", diff)
	}
	if p.Usage() != 1 {
		t.Errorf("usage of a full pool is %v", p.Usage())
	}
	check(t, p, table)
}

func TestAllocateIsAllOrNothing(t *testing.T) {
	p := NewPool(4, 16)
	table := allocate(t, p, 2)
	got, ok := p.Allocate(table, 2)
	if ok || len(got) != 2 || p.Free() != 1 {
		t.Errorf("allocating 2 of 1 free: ok %t, table %v, free %d", ok, got, p.Free())
	}
	check(t, p, table)
}

func TestReleaseInReverseOrder(t *testing.T) {
	p := NewPool(7, 16)
	a := allocate(t, p, 3) // 1 2 3
	b := allocate(t, p, 3) // 4 5 6
	p.Release(a)
	p.Release(b)
	// The tail of the table freed first is the first to go.
	if diff := cmp.Diff([]Block{3, 2, 1, 6, 5, 4}, allocate(t, p, 6)); diff != "" {
		t.Errorf("order of reuse (-want +got):\n%s", diff)
	}
}

func TestLeastRecentlyUsedIsEvicted(t *testing.T) {
	p := NewPool(4, 16)
	table := allocate(t, p, 3)
	for i, b := range table {
		p.Register(b, hashOf(i))
	}
	p.Release(table) // order of eviction: 3 2 1
	hit := p.Match(nil, hashOf, 3)
	if diff := cmp.Diff([]Block{1, 2, 3}, hit); diff != "" {
		t.Fatalf("match (-want +got):\n%s", diff)
	}
	// A hit takes blocks out of the middle of the list, wherever they are.
	p.Share(hit[1:2])
	if got := allocate(t, p, 1); got[0] != 3 {
		t.Errorf("evicted block %d, want 3, the tail of the chain", got[0])
	}
	if got := p.Match(nil, hashOf, 3); len(got) != 2 {
		t.Errorf("after the eviction of the tail %v matches, want 2 blocks", got)
	}
	if p.Evictions() != 1 || p.Cached() != 2 {
		t.Errorf("%d evictions and %d cached, want 1 and 2", p.Evictions(), p.Cached())
	}
	check(t, p, []Block{2}, []Block{3})
}

func TestMatchStopsAtFirstMiss(t *testing.T) {
	p := NewPool(8, 16)
	table := allocate(t, p, 3)
	p.Register(table[0], hashOf(0))
	p.Register(table[2], hashOf(2))
	if got := p.Match(nil, hashOf, 3); len(got) != 1 {
		t.Errorf("matched %v, want block 1 only: what is behind a gap cannot be used", got)
	}
	if got := p.Match(nil, hashOf, 0); got != nil {
		t.Errorf("matched %v with limit 0", got)
	}
}

func TestSharedBlockIsFreedByLastHolder(t *testing.T) {
	p := NewPool(4, 16)
	a := allocate(t, p, 2)
	b := slices.Clone(a)
	p.Share(b)
	p.Release(a)
	if p.Free() != 1 {
		t.Errorf("%d free after the first release, want 1", p.Free())
	}
	check(t, p, b)
	p.Release(b)
	if p.Free() != 3 {
		t.Errorf("%d free after both releases, want 3", p.Free())
	}
	check(t, p)
}

func TestDuplicatesAreNeverMerged(t *testing.T) {
	p := NewPool(5, 16)
	table := allocate(t, p, 4)
	for _, b := range table[:3] {
		p.Register(b, hashOf(7))
	}
	seven := func(int) Hash { return hashOf(7) }
	find := func() Block {
		t.Helper()
		hit := p.Match(nil, seven, 1)
		if len(hit) != 1 {
			t.Fatal("the content is not cached any more")
		}
		return hit[0]
	}
	if got := find(); got != table[0] {
		t.Errorf("found block %d, want %d, registered first", got, table[0])
	}
	check(t, p, table)

	p.Release(table[:1]) // the oldest goes, the next oldest takes over
	allocate(t, p, 1)
	if got := find(); got != table[1] {
		t.Errorf("found block %d after the eviction of the first, want %d", got, table[1])
	}
	check(t, p, table)
}

func TestReset(t *testing.T) {
	p := NewPool(4, 16)
	table := allocate(t, p, 2)
	p.Register(table[0], hashOf(0))
	if err := p.Reset(); !errors.Is(err, ErrInUse) {
		t.Errorf("Reset in use: %v, want ErrInUse", err)
	}
	if p.Cached() != 1 {
		t.Errorf("a refused reset left %d cached blocks, want 1", p.Cached())
	}
	p.Release(table)
	if err := p.Reset(); err != nil {
		t.Errorf("Reset: %v", err)
	}
	if got := p.Match(nil, hashOf, 1); got != nil || p.Cached() != 0 {
		t.Errorf("after Reset %v matches and %d are cached", got, p.Cached())
	}
	check(t, p)
}

func TestMisusePanics(t *testing.T) {
	for name, f := range map[string]func(p *Pool, held []Block){
		"release twice":       func(p *Pool, held []Block) { p.Release(held); p.Release(held) },
		"release null":        func(p *Pool, _ []Block) { p.Release([]Block{Null}) },
		"register free block": func(p *Pool, _ []Block) { p.Register(3, hashOf(1)) },
		"register twice":      func(p *Pool, held []Block) { p.Register(held[0], hashOf(1)); p.Register(held[0], hashOf(2)) },
		"pool without blocks": func(*Pool, []Block) { NewPool(1, 16) },
		"blocks of no tokens": func(*Pool, []Block) { NewPool(8, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPool(4, 16)
			held := allocate(t, p, 1)
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			f(p, held)
		})
	}
}

// TestIntegrityFindsFaults damages a healthy pool in every way that
// CheckIntegrity promises to notice.
func TestIntegrityFindsFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(p *Pool)
		want   string
	}{
		"leaked reference":        {func(p *Pool) { p.blocks[1].refs++ }, "references"},
		"free but referenced":     {func(p *Pool) { p.pushFree(1) }, "free list"},
		"lost free block":         {func(p *Pool) { p.unlinkFree(4); p.free++ }, "free list"},
		"wrong count":             {func(p *Pool) { p.free-- }, "counted as free"},
		"free list not linked":    {func(p *Pool) { p.blocks[5].prev = 2 }, "linked back"},
		"free list in a circle":   {func(p *Pool) { p.blocks[5].next = 4; p.blocks[4].prev = 5 }, "twice"},
		"hash of other content":   {func(p *Pool) { p.blocks[2].hash = hashOf(9) }, "does not hold it"},
		"hash without cache":      {func(p *Pool) { delete(p.cached, hashOf(1)) }, "carries a hash"},
		"cache without hash":      {func(p *Pool) { p.cached[hashOf(3)] = 3 }, "does not hold it"},
		"ring not linked":         {func(p *Pool) { p.blocks[2].older = 3 }, "linked back"},
		"wrong count of hashes":   {func(p *Pool) { p.hashed++ }, "counted"},
		"table beyond the pool":   {nil, "pool of 6"},
		"null block in the table": {nil, "block 0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPool(6, 16)
			for _, b := range allocate(t, p, 5) {
				p.Release([]Block{b}) // so that all are on the free list, in order
			}
			table := allocate(t, p, 3)
			p.Register(table[0], hashOf(1))
			p.Register(table[1], hashOf(2))
			check(t, p, table)
			switch name {
			case "table beyond the pool":
				table = append(table, 6)
			case "null block in the table":
				table = append(table, Null)
			default:
				tc.damage(p)
			}
			err := p.CheckIntegrity(slices.Values([][]Block{table}))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// TestPoolTakesMemoryAsItIsUsed: a pool of any size is made in no time, and of blocks
// that were never taken nothing is kept.
func TestPoolTakesMemoryAsItIsUsed(t *testing.T) {
	p := NewPool(math.MaxInt32, 16)
	table := allocate(t, p, 3)
	p.Release(table)
	again := allocate(t, p, 2)
	if diff := cmp.Diff([]Block{4, 5}, again); diff != "" || len(p.blocks) != 6 {
		t.Errorf("%d blocks are kept, expected 6; taken after others were free again (-want +got):\n%s", len(p.blocks), diff)
	}
	if p.Usable() != math.MaxInt32-1 || p.Free() != p.Usable()-2 {
		t.Errorf("%d of %d are free", p.Free(), p.Usable())
	}
}
