package mock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is put in, moved and taken out, the first of the heap is the smallest.
func TestDueHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap
		conns := make([]*conn, 12)
		for i := range conns {
			conns[i] = &conn{place: -1}
		}
		in := map[*conn]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			c := conns[rapid.IntRange(0, len(conns)-1).Draw(t, "conn")]
			if rapid.Bool().Draw(t, "set") {
				h.set(c, time.Duration(rapid.IntRange(0, 20).Draw(t, "at")))
				in[c] = true
			} else {
				h.remove(c)
				delete(in, c)
			}
			if len(h) != len(in) {
				t.Fatalf("%d in the heap, want %d", len(h), len(in))
			}
			for c := range in {
				if h[0].dueAt > c.dueAt || h[c.place] != c {
					t.Fatalf("the first is due at %d, another at %d", h[0].dueAt, c.dueAt)
				}
			}
		}
	})
}
