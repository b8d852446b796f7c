package sched

import (
	"slices"

	"github.com/llmctl/llmctl/engine/kv"
)

// Pinned are blocks that are kept after their request has ended.
type Pinned struct{ table []kv.Block }

// Pin keeps the blocks of an entry as they are until Unpin, whatever becomes of
// the request: while K and V are sent to another engine, nobody may write there
// (vLLM's delay_free_blocks). It is to be called before Complete of the entry's
// batch. While blocks are pinned, Schedule may find nothing to run though requests
// wait; Unpin is then the time to ask again.
func (s *Scheduler) Pin(e *Entry) *Pinned {
	p := &Pinned{slices.Clone(e.Blocks)}
	s.pool.Share(p.table)
	s.pinned = append(s.pinned, p)
	return p
}

// Unpin gives the blocks back. It panics when they are not pinned, because
// somebody else may hold them by then.
func (s *Scheduler) Unpin(p *Pinned) {
	i := slices.Index(s.pinned, p)
	if i < 0 {
		panic("sched: unpinning blocks that are not pinned")
	}
	s.pinned = slices.Delete(s.pinned, i, i+1)
	s.pool.Release(p.table)
}
