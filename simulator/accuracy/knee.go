package accuracy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Curve is a measured curve over concurrency and its simulation.
type Curve struct {
	Name   string
	Points []CurvePoint // by load
}

// CurvePoint is one load of a curve.
type CurvePoint struct {
	Load                float64
	Measured, Simulated Pair
}

// Pair is throughput in output tokens per second and the mean time to first token in
// milliseconds.
type Pair struct{ Throughput, TTFT float64 }

// Curves are the closed loops that have throughput and TTFT at three loads or more,
// of one subject and of the same lengths.
func (c Compared) Curves() (curves []Curve) {
	type key struct{ group, subject string }
	points := map[key]map[float64]CurvePoint{}
	for _, f := range c.Figures {
		if !f.Closed {
			continue
		}
		k := key{f.Group, fmt.Sprintf("%s, %s", f.Subject, f.Lengths)}
		if points[k] == nil {
			points[k] = map[float64]CurvePoint{}
		}
		p := points[k][f.Load]
		p.Load = f.Load
		switch f.Column {
		case "output_tok_s":
			p.Measured.Throughput, p.Simulated.Throughput = f.Measured, f.Simulated
		case "ttft_ms_mean":
			p.Measured.TTFT, p.Simulated.TTFT = f.Measured, f.Simulated
		}
		points[k][f.Load] = p
	}
	for k, at := range points {
		curve := Curve{Name: fmt.Sprintf("%s (%s)", k.subject, k.group)}
		for _, load := range slices.Sorted(maps.Keys(at)) {
			if p := at[load]; p.Measured.Throughput > 0 && p.Measured.TTFT > 0 {
				curve.Points = append(curve.Points, p)
			}
		}
		if len(curve.Points) >= 3 {
			curves = append(curves, curve)
		}
	}
	slices.SortFunc(curves, func(a, b Curve) int { return cmp.Compare(a.Name, b.Name) })
	return curves
}

// knee is the index of the first point after which throughput grows by less than a
// quarter of what the load grows by, relative to each; −1 when it always does.
func knee(points []CurvePoint, of func(CurvePoint) Pair) int {
	for i := range len(points) - 1 {
		load := points[i+1].Load/points[i].Load - 1
		gain := of(points[i+1]).Throughput/of(points[i]).Throughput - 1
		if gain < load/4 {
			return i
		}
	}
	return -1
}

// Knees are the places of the knee, measured and simulated, as indexes of Points; −1
// where there is none.
func (c Curve) Knees() (measured, simulated int) {
	return knee(c.Points, func(p CurvePoint) Pair { return p.Measured }), knee(c.Points, func(p CurvePoint) Pair { return p.Simulated })
}
