package loadgen

import (
	"container/heap"
	"sync"
	"time"
)

// queue holds the jobs of a run in the order in which they are due. Anyone may
// push; the pacer of an open loop, or the slots of a closed one, take them out.
type queue struct {
	changed chan struct{} // something was pushed or will not come, since the last look

	mu       sync.Mutex
	jobs     byDue
	expected int // producers that may yet push
}

func newQueue() *queue { return &queue{changed: make(chan struct{}, 1)} }

// expect announces one more producer, which ends with forget.
func (q *queue) expect() {
	q.mu.Lock()
	q.expected++
	q.mu.Unlock()
}

// forget takes back one expect.
func (q *queue) forget() {
	q.mu.Lock()
	q.expected--
	q.mu.Unlock()
	q.tell()
}

func (q *queue) push(j *job) {
	q.mu.Lock()
	heap.Push(&q.jobs, j)
	q.mu.Unlock()
	q.tell()
}

func (q *queue) tell() {
	select {
	case q.changed <- struct{}{}:
	default: // whoever waits has yet to look
	}
}

// next returns when the first job is due; ok is false when there is none.
// Nothing is left when none can come any more either.
func (q *queue) next() (due time.Duration, ok, left bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return 0, false, q.expected > 0
	}
	return q.jobs[0].due, true, true
}

// take removes the first job that is due by a time, nil when there is none.
func (q *queue) take(by time.Duration) *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 || q.jobs[0].due > by {
		return nil
	}
	return heap.Pop(&q.jobs).(*job)
}

// byDue is a heap of jobs. Jobs that are due at one time go in the order of
// their sessions.
type byDue []*job

func (h byDue) Len() int { return len(h) }

func (h byDue) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].session.Index < h[j].session.Index
}

func (h byDue) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *byDue) Push(x any) { *h = append(*h, x.(*job)) }

func (h *byDue) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return j
}
