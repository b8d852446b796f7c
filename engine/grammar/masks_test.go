package grammar

import (
	"runtime"
	"slices"
	"testing"
)

// masksOf are the masks along a text.
func masksOf(g *Grammar, v *Vocabulary, text string) (all [][]uint64) {
	m := g.Matcher(v)
	for i := range len(text) {
		mask := make([]uint64, (v.Size()+63)/64)
		m.Mask(mask)
		all = append(all, mask)
		m.Accept(int32(text[i]))
	}
	return all
}

// What grammars keep is bounded for all of them together: when nothing is left they
// work as before, and what a grammar kept is free again when it is gone.
func TestMasksOfAllGrammarsHaveABound(t *testing.T) {
	const schema, text = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","maxLength":5}},"required":["a","b"]}`, `{"a":12,"b":"x"}`
	v := testVocabulary()
	g := mustSchema(t, schema, Options{})
	before := g.Memory()
	want := masksOf(g, v, text)
	if g.Memory() <= before || v.kept.Load() == 0 {
		t.Errorf("a grammar of %d bytes takes %d after its use, all keep %d", before, g.Memory(), v.kept.Load())
	}
	v.kept.Add(maxKeptOfAll)
	full := v.kept.Load()
	other := mustSchema(t, schema, Options{})
	if got := masksOf(other, v, text); !slices.EqualFunc(got, want, slices.Equal[[]uint64]) {
		t.Error("masks differ when none can be kept")
	}
	if v.kept.Load() != full {
		t.Errorf("%d bytes are kept, want %d as before", v.kept.Load(), full)
	}
	runtime.KeepAlive(g)
	for n := 0; v.kept.Load() > maxKeptOfAll && n < 10_000; n++ {
		runtime.GC() // frees what cleanups count
	}
	if left := v.kept.Load() - maxKeptOfAll; left != 0 {
		t.Errorf("%d bytes are still counted after the grammar is gone", left)
	}
}
