package reports

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
)

// sparkColumns is how wide a line of a series is.
const sparkColumns = 48

// fewestDrawn is the number of intervals below which a line shows nothing.
const fewestDrawn = 8

// series draws each quantity as one line of blocks from the start of the run to
// its last sample, from 0 to the highest mean of a column.
func (p *page) series(s *Series) {
	if s == nil || len(s.TS) < fewestDrawn {
		return
	}
	t := Table{Right: []bool{false, false, true}}
	for _, q := range []struct {
		name   string
		values []*float64
		text   func(float64) string
		always bool // even when it is the same all the time
	}{
		{"queue", s.Queue, units.Number, true}, {"running", s.Running, units.Number, true},
		{"tokens", s.BatchTokens, units.Number, true}, {"KV usage", s.KVUsage, percent, true},
		{"preempt", s.Preemptions, units.Number, false}, {"hits", s.HitRate, percent, false},
		{"replicas", s.Replicas, units.Number, false},
	} {
		columns, highest, varies := drawn(q.values)
		if columns == nil || !varies && !q.always {
			continue
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%-*s", labelWidth-2, q.name), columnBlocks(columns, highest), "≤ " + q.text(short(highest))})
	}
	if len(t.Rows) == 0 {
		return
	}
	p.line("")
	length := s.IntervalS * float64(len(s.TS))
	p.field("over time", fmt.Sprintf("0 s to %s; queue and running in requests, tokens of a step", units.Seconds(length)))
	t.WriteTo(&p.out) //nolint:errcheck // a buffer
}

// drawn is a series in at most sparkColumns columns, each the mean of the intervals
// in it, NaN where nothing is known; nil without any.
func drawn(values []*float64) (columns []float64, highest float64, varies bool) {
	if values == nil {
		return nil, 0, false
	}
	n := min(len(values), sparkColumns)
	lowest := math.Inf(1)
	for i := range n {
		sum, known := 0.0, 0
		for _, v := range values[i*len(values)/n : (i+1)*len(values)/n] {
			if v != nil {
				sum += *v
				known++
			}
		}
		if known == 0 {
			columns = append(columns, math.NaN())
			continue
		}
		mean := sum / float64(known)
		columns = append(columns, mean)
		lowest, highest = min(lowest, mean), max(highest, mean)
	}
	return columns, highest, highest > lowest
}

// columnBlocks draws columns from 0 to the highest; what is above 0 is never blank.
func columnBlocks(columns []float64, highest float64) string {
	out := make([]rune, len(columns))
	for i, v := range columns {
		level := 0
		if highest > 0 && v > 0 {
			level = max(1, int(v/highest*float64(len(eighths)-1)))
		}
		out[i] = eighths[level]
	}
	return string(out)
}
