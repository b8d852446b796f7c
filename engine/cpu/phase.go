package cpu

import (
	"github.com/llmctl/llmctl/engine/cpu/matrix"
	"github.com/llmctl/llmctl/engine/cpu/vector"
)

// phases are the executor's methods that do a part of a phase, bound once so that a
// step allocates nothing.
type phases struct {
	begin, normalize, multiply, turn, attend, quantize func(worker, part int)
	gate, down, route, gather, combine                 func(worker, part int)
	prepare, take                                      func(worker, part int)
	quantizeHead                                       func(row, head int)
}

func (e *Executor) bind() phases {
	return phases{
		begin: e.beginPart, normalize: e.normalizePart, multiply: e.multiplyPart,
		turn: e.turnPart, attend: e.attendPart, quantize: e.quantizePart, quantizeHead: e.quantizeHead,
		gate: e.gatePart, down: e.downPart, route: e.routePart, gather: e.gatherPart, combine: e.combinePart,
		prepare: e.preparePart, take: e.takePart,
	}
}

const (
	// tileRows bounds the rows that share one reading of a panel: enough that the
	// reading does not count, few enough that their activations stay in a core's caches.
	tileRows = 32
	// tileOutputs bounds the outputs of a part of a product, rows and panels together.
	tileOutputs = 4096
	// shares is how many parts a phase has for each worker, if it can be cut so far: more
	// balance better, and cost more.
	shares = 4
)

// tiles is how many tiles of the given size hold n rows.
func tiles(n, size int) int { return (n + size - 1) / size }

// rowsPerPart is how many rows a part has in phases that work row by row.
func (e *Executor) rowsPerPart() int {
	return max(1, min(tileRows, tiles(len(e.rows), shares*len(e.workers))))
}

func (e *Executor) rowsOf(part int) (first, last int) {
	n := e.rowsPerPart()
	return part * n, min((part+1)*n, len(e.rows))
}

// byRows runs a phase that works row by row.
func (e *Executor) byRows(do func(worker, part int)) {
	e.team.Run(tiles(len(e.rows), e.rowsPerPart()), do)
}

// product is a product of activations with matrices of one width.
type product struct {
	parts  [3]factor
	panels int // of all factors
	in     *matrix.Rows
	first  int // row of in that is row 0 of the outputs
	rows   int
	dst    []float32 // [row][stride]
	stride int
	add    bool // to dst
	cut    cut
}

// factor is one matrix, whose outputs begin at an offset of dst's rows.
type factor struct {
	*matrix.Matrix
	offset int
	bias   []float32
}

// cut says how rows and panels are cut into parts.
type cut struct{ rows, panels, columns int }

// cutFor cuts a product of a number of rows and panels for a number of workers. Panels
// come in multiples of unit.
func cutFor(rows, panels, unit, workers int) cut {
	c := cut{rows: min(rows, tileRows)}
	c.panels = max(1, panels/unit*tiles(rows, c.rows)/(shares*workers)) // units, for now
	c.panels = max(1, min(c.panels, tileOutputs/matrix.Width/unit/c.rows, tiles(panels, unit))) * unit
	c.columns = tiles(panels, c.panels)
	return c
}

// parts is how many parts there are.
func (c cut) parts(rows int) int { return tiles(rows, c.rows) * c.columns }

// of returns the rows and panels of a part.
func (c cut) of(part, rows, panels int) (first, last, from, to int) {
	r, p := part/c.columns, part%c.columns
	return r * c.rows, min((r+1)*c.rows, rows), p * c.panels, min((p+1)*c.panels, panels)
}

// run computes the product that was set up but for its cut.
func (e *Executor) multiply(p product) {
	for _, f := range p.parts {
		if f.Matrix != nil {
			p.panels += f.Panels()
		}
	}
	p.cut = cutFor(p.rows, p.panels, 1, len(e.workers))
	e.product = p
	e.team.Run(p.cut.parts(p.rows), e.each.multiply)
}

func (e *Executor) multiplyPart(worker, part int) {
	p, w := &e.product, &e.workers[worker]
	first, last, from, to := p.cut.of(part, p.rows, p.panels)
	for i := range p.parts {
		f := &p.parts[i]
		if f.Matrix == nil {
			return
		}
		if n := f.Panels(); from < n {
			p.write(f, w.tile, first, last, from, min(to, n))
		}
		from, to = max(0, from-f.Panels()), to-f.Panels()
		if to <= 0 {
			return
		}
	}
}

// write computes some panels of a factor, and puts or adds them where they belong.
func (p *product) write(f *factor, tile []float32, first, last, from, to int) {
	begin, end := from*matrix.Width, min(to*matrix.Width, f.Out)
	at := p.dst[first*p.stride+f.offset+begin:]
	if direct := !p.add && end == to*matrix.Width; direct {
		f.Multiply(at, p.stride, p.in, p.first+first, p.first+last, from, to)
	} else {
		stride := (to - from) * matrix.Width
		f.Multiply(tile, stride, p.in, p.first+first, p.first+last, from, to)
		for r := range last - first {
			dst, src := at[r*p.stride:][:end-begin], tile[r*stride:][:end-begin]
			if p.add {
				vector.Add(dst, src)
			} else {
				copy(dst, src)
			}
		}
	}
	if f.bias != nil {
		for r := range last - first {
			vector.Add(at[r*p.stride:][:end-begin], f.bias[begin:end])
		}
	}
}
