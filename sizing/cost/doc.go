// Package cost is the one cost model: how long a step of a batch takes on an accelerator.
package cost
