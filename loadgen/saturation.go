package loadgen

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/llmctl/llmctl/reports/stats"
)

// saturation tells whether an open loop offers more than its target serves, by
// whether a backlog grows without end. The last window is cut into blocks; in each
// the mean number in flight and the mean TTFT are taken. The target is saturated
// when both
//
//   - rise by the test of Mann (1945) and Kendall (1975): of the 45 pairs of blocks
//     at most 5 fall, which happens to numbers without a trend once in 2,100 times
//     (1,717 of the 10! orders of ten numbers have no more inversions), and
//   - rise far: by Sen's slope (1968), the median of the slopes between all pairs,
//     the growth over the window is more than half of the median.
//
// Means of blocks are tested, and not samples, because neighbouring samples of a
// queue are nearly equal. Both series are asked for because each alone may rise in
// a run that is well: requests in flight with a rate that ramps up, TTFT with
// prompts that grow.
type saturation struct {
	window time.Duration // 0 is no rule

	mu     sync.Mutex
	blocks [saturationBlocks]block
	judged int64 // the last block that was the end of a judged window
}

const (
	saturationBlocks = 10
	maxInversions    = 5
	minGrowth        = 0.5
	// minRise is by how many requests the number in flight must have grown: a
	// few more or less are no backlog.
	minRise = 5
)

// block is one part of a window, by its number since the start.
type block struct {
	index          int64
	inFlight, ttft float64 // sums
	samples, first int
}

func (s *saturation) at(t time.Duration) *block {
	index := int64(t / (s.window / saturationBlocks))
	b := &s.blocks[index%saturationBlocks]
	if b.index != index || b.samples+b.first == 0 {
		*b = block{index: index}
	}
	return b
}

// first notes a first token at a time since the end of warm-up.
func (s *saturation) first(t, ttft time.Duration) {
	if s.window == 0 || t < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.at(t)
	b.ttft += ttft.Seconds()
	b.first++
}

// sample notes how many requests are in flight at a time since the end of
// warm-up; why is set when the run is to be broken off. A window is judged once,
// when a block ends.
func (s *saturation) sample(t time.Duration, inFlight int) (why string) {
	if s.window == 0 || t < 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	index := int64(t / (s.window / saturationBlocks))
	if index >= saturationBlocks && index > s.judged { // what lies before this block is whole
		s.judged = index
		why = s.judge(index)
	}
	b := s.at(t)
	b.inFlight += float64(inFlight)
	b.samples++
	return why
}

// judge looks at the blocks before the one with this index.
func (s *saturation) judge(index int64) (why string) {
	var inFlight, ttft []float64
	for i := index - saturationBlocks; i < index; i++ {
		b := s.blocks[i%saturationBlocks]
		if b.index != i || b.samples == 0 || b.first == 0 {
			return "" // a block without a first token shows no trend
		}
		inFlight = append(inFlight, b.inFlight/float64(b.samples))
		ttft = append(ttft, b.ttft/float64(b.first))
	}
	rise, grows := growth(inFlight)
	_, slower := growth(ttft)
	if !grows || !slower || rise < minRise {
		return ""
	}
	last := saturationBlocks - 1
	return fmt.Sprintf("the run was broken off: over the last %v requests in flight grew from %.0f to %.0f and TTFT from %.3g s to %.3g s, so the target is offered more than it serves",
		s.window, inFlight[0], inFlight[last], ttft[0], ttft[last])
}

// growth is by how much values grew from the first to the last, by the median of
// the slopes between all pairs; grows is whether that is significant and much.
func growth(values []float64) (rise float64, grows bool) {
	rise, notRising := stats.Trend(values)
	sorted := slices.Sorted(slices.Values(values))
	return rise, notRising <= maxInversions && rise > minGrowth*sorted[len(sorted)/2]
}
