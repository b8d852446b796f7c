package grammar

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// A branch of a deterministic state: bytes up to and without the next branch's
// first lead to one state, or nowhere.
type branch struct {
	first byte
	to    int32
}

// A fixed state is one of a deterministic rule, numbered within it.
type fixed struct {
	branches []branch // by first byte; empty: reads no byte
	calls    []call
	final    bool
}

// A call reads a whole rule on the way to another state.
type call struct{ rule, to int32 }

// A subset construction under way: each deterministic state stands for a set of the
// draft's. Calls are letters like bytes are.
type subsets struct {
	d        *draft
	index    map[fingerprint]int32
	sets     [][]int32
	out      []fixed
	seen     []bool
	set      []int32 // scratch, as are those below
	key      []byte
	reads    []draftEdge
	targets  []int32
	branched int // branches of all states
	meter    *meter
	room     int // states left
}

// A fingerprint stands for a set. Sets may be long and many; two of 128 bits, whose
// seeds nobody knows, are not alike by chance.
type fingerprint [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// determinize is Rabin and Scott's subset construction (Finite Automata and Their
// Decision Problems, 1959) over bytes and calls.
func determinize(d *draft, m *meter, room int) []fixed {
	b := &subsets{d: d, index: map[fingerprint]int32{}, seen: make([]bool, len(d.edges)), meter: m, room: room}
	b.at([]int32{first})
	for i := 0; i < len(b.sets); i++ {
		b.expand(int32(i))
		b.sets[i] = nil
	}
	return b.out
}

// at is the state that stands for what is reached from some states without reading.
func (b *subsets) at(from []int32) int32 {
	set := b.closure(from)
	b.key = b.key[:0]
	for _, s := range set {
		b.key = binary.LittleEndian.AppendUint32(b.key, uint32(s))
	}
	print := fingerprint{maphash.Bytes(seeds[0], b.key), maphash.Bytes(seeds[1], b.key)}
	if s, ok := b.index[print]; ok {
		return s
	}
	if len(b.sets) == b.room {
		tooLarge("more than %d states", maxStates)
	}
	s := int32(len(b.sets))
	b.index[print] = s
	b.sets = append(b.sets, slices.Clone(set))
	_, final := slices.BinarySearch(set, last)
	b.out = append(b.out, fixed{final: final})
	return s
}

// closure extends states by those that are reached without reading, and keeps those
// that read something or are the end, sorted. The result is valid until the next call.
func (b *subsets) closure(from []int32) []int32 {
	all := append(b.set[:0], from...)
	for i := 0; i < len(all); i++ {
		b.seen[all[i]] = true
		edges := b.d.edges[all[i]]
		b.meter.spend(1 + len(edges))
		for _, e := range edges {
			if e.rule == silent && !b.seen[e.to] {
				b.seen[e.to] = true
				all = append(all, e.to)
			}
		}
	}
	for _, s := range all {
		b.seen[s] = false
	}
	b.set = all
	all = slices.DeleteFunc(all, func(s int32) bool {
		return s != last && !slices.ContainsFunc(b.d.edges[s], func(e draftEdge) bool { return e.rule != silent })
	})
	slices.Sort(all)
	return slices.Compact(all)
}

func (b *subsets) expand(state int32) {
	reads := b.reads[:0]
	called := map[int32][]int32{}
	var rules []int32
	for _, s := range b.sets[state] {
		for _, e := range b.d.edges[s] {
			switch {
			case e.rule == noRule:
				reads = append(reads, e)
			case e.rule >= 0:
				if called[e.rule] == nil {
					rules = append(rules, e.rule)
				}
				called[e.rule] = append(called[e.rule], e.to)
			}
		}
	}
	for _, r := range rules {
		to := b.at(called[r])
		b.out[state].calls = append(b.out[state].calls, call{rule: r, to: to})
	}
	b.reads = reads
	branches := b.branches(reads)
	if b.branched += len(branches); b.branched > maxBranches {
		tooLarge("more than %d branches of one value", maxBranches)
	}
	b.out[state].branches = branches
}

// branches cuts the bytes into stretches in which the same edges apply.
func (b *subsets) branches(reads []draftEdge) []branch {
	if len(reads) == 0 {
		return nil
	}
	var cut [257]bool
	cut[0] = true
	for _, e := range reads {
		cut[e.lo], cut[int(e.hi)+1] = true, true
	}
	var out []branch
	for c := range 256 {
		if !cut[c] {
			continue
		}
		b.meter.spend(len(reads))
		targets := b.targets[:0]
		for _, e := range reads {
			if e.lo <= byte(c) && byte(c) <= e.hi {
				targets = append(targets, e.to)
			}
		}
		b.targets = targets
		to := int32(nowhere)
		if len(targets) > 0 {
			to = b.at(targets)
		}
		if n := len(out); n > 0 && out[n-1].to == to {
			continue
		}
		out = append(out, branch{first: byte(c), to: to})
	}
	return out
}
