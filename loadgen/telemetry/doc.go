// Package telemetry observes what a run does not measure itself: the metrics
// pages of the target, the GPUs of this machine, and the load generator's own
// process. It never disturbs the run: what can not be read is left out.
package telemetry
