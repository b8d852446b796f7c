package sizing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestStageBounds(t *testing.T) {
	for _, tc := range []struct {
		name             string
		layers, pipeline int
		want             []int
	}{
		{"one stage", 32, 1, []int{0, 32}},
		{"even", 32, 4, []int{0, 8, 16, 24, 32}},
		{"one left over goes before the last", 61, 4, []int{0, 15, 30, 46, 61}},
		{"three left over", 47, 4, []int{0, 12, 24, 36, 47}},
		{"a layer a stage", 3, 3, []int{0, 1, 2, 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, stageBounds(tc.layers, tc.pipeline)); diff != "" {
				t.Error(diff)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		layers := rapid.IntRange(1, 130).Draw(t, "layers")
		bounds := stageBounds(layers, rapid.IntRange(1, layers).Draw(t, "stages"))
		smallest, largest := layers, 0
		for i := range len(bounds) - 1 {
			smallest, largest = min(smallest, bounds[i+1]-bounds[i]), max(largest, bounds[i+1]-bounds[i])
		}
		if bounds[len(bounds)-1] != layers || largest-smallest > 1 {
			t.Fatalf("%d layers lie as %v", layers, bounds)
		}
	})
}

// TestLastStageDecides: it holds the head and the sampler's buffers, so that an
// even split leaves it the smallest pool, while the log prints the first one's.
func TestLastStageDecides(t *testing.T) {
	m := mustCompute(t, scenario(func(r *Request) {
		r.GPUMemoryUtilization, r.Scenario.Parallel.Pipeline = 0.95, 4
	})).Memory
	if m.Stage != 3 || m.FirstStageBytes <= m.KVCacheBytes {
		t.Errorf("stage %d decides with %d bytes, the first has %d", m.Stage, m.KVCacheBytes, m.FirstStageBytes)
	}
	// One layer more on a stage before the last costs more blocks than the head.
	uneven := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.Model, r.Scenario.Parallel.Pipeline = "qwen2.5-7b", 3
	})).Memory
	if uneven.Stage != 1 {
		t.Errorf("stage %d decides, want the one with ten layers of 28", uneven.Stage)
	}
}
