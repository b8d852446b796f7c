package fit

import (
	"fmt"

	"github.com/llmctl/llmctl/sizing"
)

// maxConfigurations bounds how many different configurations a calibration takes,
// so that it ends in seconds: what a fit costs grows with them. Repeated runs of
// one cost nothing.
const maxConfigurations = 1000

// Reader turns rows into points, and works each configuration out once.
type Reader struct {
	known map[string]sizing.TimeModel
}

// Point is Row.Point of a row that names its model itself.
func (d *Reader) Point(r Row) (Point, error) {
	return r.point(r.Text("model"), d.timeModel)
}

func (d *Reader) timeModel(q sizing.Request) (sizing.TimeModel, error) {
	key := fmt.Sprintf("%+v", q)
	if t, ok := d.known[key]; ok {
		return t, nil
	}
	if len(d.known) == maxConfigurations {
		return sizing.TimeModel{}, tooMany()
	}
	t, err := sizing.NewTimeModel(q)
	if err != nil {
		return t, err
	}
	if d.known == nil {
		d.known = map[string]sizing.TimeModel{}
	}
	d.known[key] = t
	return t, nil
}

func tooMany() error {
	return fmt.Errorf("the points are of more than %d configurations: leave some out, or round their lengths", maxConfigurations)
}

// merged are points of which those of one configuration at one load are one, with
// the median of their times and the say of them all. of is, for each point, the
// one that stands for it.
func merged(points []Point) (unique []Point, of []int) {
	index := map[string]int{}
	var times, firsts [][]float64
	for _, p := range points {
		key := fmt.Sprintf("%s %s %s %v %v %v", p.Engine, p.Family, p.Device.Name, p.Facts, p.Load, p.Rate)
		i, ok := index[key]
		if !ok {
			i = len(unique)
			index[key] = i
			unique, times, firsts = append(unique, p), append(times, nil), append(firsts, nil)
		}
		of, times[i] = append(of, i), append(times[i], p.TPOT)
		if p.TTFT > 0 {
			firsts[i] = append(firsts[i], p.TTFT)
		}
	}
	for i := range unique {
		unique[i].TPOT, unique[i].count = quantile(times[i], 0.5), len(times[i])
		if len(firsts[i]) > 0 {
			unique[i].TTFT = quantile(firsts[i], 0.5)
		}
	}
	return unique, of
}
