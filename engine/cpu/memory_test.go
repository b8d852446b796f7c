package cpu

import (
	"runtime"
	"testing"

	"github.com/llmctl/llmctl/engine/cpu/attention"
)

// The pool is not of Go's heap: garbage may grow to the size of what is.
func TestALargePoolIsNotOfTheHeap(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	w := builtin(t)
	const pool = 256 << 20
	before := heap()
	e, err := New(w, Config{Blocks: pool / (16 * attention.BytesPerToken(w.Shape, attention.Float32)), BlockSize: 16, Workers: 1, KV: attention.Float32})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if after := heap(); after > before+pool/2 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}
