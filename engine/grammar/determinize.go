package grammar

import (
	"encoding/binary"
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
	d      *draft
	index  map[string]int32
	sets   [][]int32
	out    []fixed
	seen   []bool
	key    []byte
	budget *int // steps left, of all rules
	room   int  // states left
}

// determinize is Rabin and Scott's subset construction (Finite Automata and Their
// Decision Problems, 1959) over bytes and calls.
func determinize(d *draft, budget *int, room int) []fixed {
	b := &subsets{d: d, index: map[string]int32{}, seen: make([]bool, len(d.edges)), budget: budget, room: room}
	b.at([]int32{first})
	for i := 0; i < len(b.sets); i++ {
		b.expand(int32(i))
		b.sets[i] = nil
	}
	return b.out
}

// at is the state that stands for a set.
func (b *subsets) at(set []int32) int32 {
	set = b.d.closure(set, b.seen)
	if *b.budget -= len(set); *b.budget < 0 {
		tooLarge("its alternatives overlap too much")
	}
	b.key = b.key[:0]
	for _, s := range set {
		b.key = binary.LittleEndian.AppendUint32(b.key, uint32(s))
	}
	if s, ok := b.index[string(b.key)]; ok {
		return s
	}
	if len(b.sets) == b.room {
		tooLarge("more than %d states", maxStates)
	}
	s := int32(len(b.sets))
	b.index[string(b.key)] = s
	b.sets = append(b.sets, set)
	b.out = append(b.out, fixed{final: slices.Contains(set, last)})
	return s
}

func (b *subsets) expand(state int32) {
	var reads []draftEdge
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
	branches := b.branches(reads)
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
	var targets []int32
	for c := range 256 {
		if !cut[c] {
			continue
		}
		*b.budget -= len(reads)
		targets = targets[:0]
		for _, e := range reads {
			if e.lo <= byte(c) && byte(c) <= e.hi {
				targets = append(targets, e.to)
			}
		}
		to := int32(nowhere)
		if len(targets) > 0 {
			to = b.at(slices.Clone(targets))
		}
		if n := len(out); n > 0 && out[n-1].to == to {
			continue
		}
		out = append(out, branch{first: byte(c), to: to})
	}
	return out
}
