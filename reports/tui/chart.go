package tui

import (
	"math"
	"strings"
)

// maxPoints bounds a series; it is more than the columns of any terminal.
const maxPoints = 1024

// series is one metric over the whole run, at most maxPoints long: when it is
// full, points are averaged two by two and from then on each stands for twice
// as many snapshots. NaN is no measurement.
type series struct {
	points []float64
	per    int // snapshots per point; 0 before the first
	sum    float64
	known  int // snapshots in sum
	seen   int // snapshots since the last point
	last   float64
	high   float64
}

func (s *series) push(v float64) {
	if s.per == 0 {
		s.per, s.high = 1, math.Inf(-1)
	}
	s.last = v
	if !math.IsNaN(v) {
		s.sum += v
		s.known++
		s.high = max(s.high, v)
	}
	if s.seen++; s.seen < s.per {
		return
	}
	s.points = append(s.points, s.sum/float64(s.known)) // 0 ÷ 0 is NaN, no measurement
	s.sum, s.known, s.seen = 0, 0, 0
	if len(s.points) == maxPoints {
		s.points = squeeze(s.points, maxPoints/2)
		s.per *= 2
	}
}

// squeeze averages points into n groups of nearly equal size; fewer than n are
// returned as they are.
func squeeze(points []float64, n int) []float64 {
	if len(points) <= n {
		return points
	}
	out := make([]float64, n)
	for i := range out {
		sum, known := 0.0, 0
		for _, v := range points[i*len(points)/n : (i+1)*len(points)/n] {
			if !math.IsNaN(v) {
				sum += v
				known++
			}
		}
		out[i] = sum / float64(known)
	}
	return out
}

// eighths are the block characters from empty to full.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// draw draws the series as columns of blocks, rows high and at most width wide,
// from 0 to its highest point. What was not measured is blank; what was, is not.
func (s *series) draw(width, rows int) []string {
	points := squeeze(s.points, width)
	highest := 0.0
	for _, v := range points {
		if v > highest {
			highest = v
		}
	}
	lines := make([]string, rows)
	for row := range lines {
		floor := (rows - 1 - row) * 8 // eighths below this row
		var b strings.Builder
		for _, v := range points {
			b.WriteRune(eighths[min(max(level(v, highest, rows*8)-floor, 0), 8)])
		}
		lines[row] = b.String()
	}
	return lines
}

// level is the height of v in eighths of a row.
func level(v, highest float64, full int) int {
	switch {
	case math.IsNaN(v):
		return 0
	case highest <= 0 || v <= 0:
		return 1
	}
	return max(int(math.Round(v/highest*float64(full))), 1)
}
