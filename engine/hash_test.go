package engine

import (
	"testing"

	"pgregory.net/rapid"
)

// TestHashesAreEqualOnlyForEqualBeginnings compares two sequences block by block.
func TestHashesAreEqualOnlyForEqualBeginnings(t *testing.T) {
	draw := func(t *rapid.T, name string) ([]int32, string) {
		tokens := rapid.SliceOfN(rapid.Int32Range(0, 2), 12, 12).Draw(t, name)
		return tokens, rapid.SampledFrom([]string{"", "a", "b", "ab", "\x00"}).Draw(t, name+" salt")
	}
	rapid.Check(t, func(t *rapid.T) {
		a, saltA := draw(t, "a")
		b, saltB := draw(t, "b")
		x, y := chain{size: 3, salt: saltA}, chain{size: 3, salt: saltB}
		same := saltA == saltB
		for i := range 4 {
			for j := 3 * i; j < 3*i+3; j++ {
				same = same && a[j] == b[j]
			}
			if got := x.at(a, i) == y.at(b, i); got != same {
				t.Fatalf("block %d of %v (salt %q) and %v (salt %q): hashes equal is %v, beginnings equal is %v", i, a, saltA, b, saltB, got, same)
			}
		}
	})
}
