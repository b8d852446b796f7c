package fit

import (
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Point is one measured mean time per output token, with the load under which it
// was measured: closed with Load.Concurrency clients, or open with Rate requests
// per second.
type Point struct {
	ID           string
	Model        string
	Engine       string // as cost.Imitated has it
	Family       string
	Facts        cost.Facts
	Device       *profiles.Accelerator
	Load         cost.ClosedLoad
	Rate         float64 // requests per second that were answered; 0 in a closed loop
	TPOT         float64 // seconds, measured
	StartGuessed bool    // how the run starts is not stated, which TTFT depends on
	TTFT         float64 // seconds, measured; 0 when it was not, or when it is the backlog of an overload

	count int // how many measurements this is the median of; 0 is one
}

// predict is the state under constants. An open
// load whose answers come at a known rate is the closed load of as many clients
// as requests are in flight: rate × the time that each takes (Little's law), which
// grows with the clients, so that the iteration grows to the smallest solution or
// until all slots are taken.
func (p *Point) predict(c cost.Constants) cost.Loop {
	if p.Rate == 0 {
		return cost.ClosedLoop(p.Facts, p.Device, c, p.Load)
	}
	load := p.Load
	load.Concurrency = 1
	for range 200 {
		loop := cost.ClosedLoop(p.Facts, p.Device, c, load)
		next := load.Concurrency * p.Rate / loop.Rate
		if load.Slots > 0 {
			next = min(next, load.Slots)
		}
		if next <= load.Concurrency*(1+1e-7) {
			return loop
		}
		load.Concurrency = next
	}
	return cost.ClosedLoop(p.Facts, p.Device, c, load)
}

// Ratio is predicted over measured time per output token.
func (p *Point) Ratio(c cost.Constants) float64 { return p.predict(c).TPOT / p.TPOT }

// kind is what constants are fitted for: an engine on a family of accelerators,
// with dense models or mixtures of experts, and a model by its shape. Empty fields
// stand for what was not measured.
type kind struct {
	engine, family string
	moe            bool
	shape          string
}

func (p *Point) kind() kind { return kind{p.Engine, p.Family, p.Facts.MoE, p.Facts.Shape()} }
