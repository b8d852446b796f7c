package quality

import (
	"math"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

func TestFormatsBeginWithTheBaselineAndDifferInOneThing(t *testing.T) {
	all := Formats()
	if all[0] != Baseline {
		t.Errorf("the first is %v", all[0])
	}
	seen := map[Format]bool{}
	for _, f := range all {
		if seen[f] || f.Weights != Baseline.Weights && f.KV != Baseline.KV {
			t.Errorf("%v", f)
		}
		seen[f] = true
	}
}

func TestFormatsAreMeasured(t *testing.T) {
	w := builtin(t)
	tokens := sentence(t, executor(t, w, 64), 64)
	kinds := [][][]int32{{tokens[:32], tokens[32:]}, {tokens}}
	var base []Result
	for _, f := range Formats() {
		results, err := Measure(w, f, kinds)
		if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
		if base == nil {
			base = results
		}
		for i, places := range []int{62, 63} {
			r := results[i]
			change := math.Abs(r.Perplexity/base[i].Perplexity - 1)
			if r.Places != places || len(r.Top) != places || !(change < 0.5) {
				t.Errorf("%v: %d places, a perplexity of %.3f, %.3f before", f, r.Places, r.Perplexity, base[i].Perplexity)
			}
			if rounded := f.Weights != "float32" && f.Weights != "stored" || f.KV != Baseline.KV; rounded == (change == 0) {
				t.Errorf("%v: perplexity changes by %g", f, change)
			}
		}
	}
	if same := base[0].Same(base[0]); same != 1 {
		t.Errorf("a result is the same as itself in %g", same)
	}
}

func TestPlainNumbersKeepTheirValues(t *testing.T) {
	w := builtin(t)
	quantized, err := model.Quantize(w, "int8")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Float(quantized, block.F32)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range quantized.Layers {
		got := plain.Layers[i]
		if l.Down.Type != block.Q8_0 || got.Down.Type != block.F32 {
			t.Fatalf("layer %d: %s became %s", i, l.Down.Type, got.Down.Type)
		}
		want := l.Down.Floats()
		for j, v := range got.Down.Floats() {
			if v != want[j] {
				t.Fatalf("layer %d, weight %d: %g, want %g", i, j, v, want[j])
			}
		}
	}
	if _, err := Float(w, block.Q8_0); err == nil || !strings.Contains(err.Error(), "expected F32, F16 or BF16") {
		t.Errorf("storing as Q8_0: %v", err)
	}
	if _, err := Measure(w, Format{Weights: "int3"}, [][][]int32{{{1, 2}}}); err == nil {
		t.Error("measured int3")
	}
}
