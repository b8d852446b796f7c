// Package cost is the one cost model: how long a step of a batch takes on an
// accelerator. The plan, the simulator and the modeled executor all ask
// StepTime, so that a prediction and a modeled measurement differ only in what
// happens between steps.
//
// A step takes
//
//	fixed        per step, per layer and kind of layer, per sequence; more per layer when prompts are in it
//	+ √(memory² + compute²)
//	    memory   factor · bytes of weights and cache + another factor · bytes of experts touched, over the bandwidth
//	    compute  factor · operations + another factor · operations of experts, over the peak rate
//	+ collectives  latency · rounds + factor · bytes exchanged, over the link
//
// A request takes a constant time outside of its steps: web server, tokenizer, way to
// the client. It is in TTFT, and differs most between installations.
//
// All with constants per engine, accelerator family and kind of model (dense, or
// mixture of experts), fitted by package fit from published measurements. Where a
// model was measured itself, its own constants are taken. Each set comes with its
// error on measurements that took no part in the fit.
//
// The roofline limit is the larger of memory and compute with all factors 1 and
// no fixed cost. It is shown as a limit, never as a forecast.
//
// Reading order: facts.go (what a model moves and computes),
// attention.go, units.go, step.go, collectives.go, chunk.go (a prompt beside decodes), closed.go (the steady state of a closed loop), constants.go,
// table.go and calibration.go (where constants come from).
package cost
