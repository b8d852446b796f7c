// Package cost is the one cost model: how long a step of a batch takes on an
// accelerator. The plan, the simulator and the modeled executor all ask
// StepTime, so that a prediction and a modeled measurement differ only in what
// happens between steps.
//
// The model has three constants per engine, accelerator family and kind of
// model (dense, or mixture of experts):
//
//	time = per_layer · layers                                   launches, synchronisation, scheduling
//	     + memory_factor  · bytes moved  / (bandwidth · ranks)  weights touched and KV read
//	     + compute_factor · operations   / (peak rate · ranks)  matrix products and attention
//	     + collective                                           bytes of tensor parallelism over the link
//
// The roofline limit is the same with no fixed cost and both factors 1, and the
// larger of memory and compute alone. It is shown as a limit, never as a
// forecast.
package cost
