// Package fit finds the constants of the step model from measured points: those
// that llmctl ships, from published measurements (cmd/constants), and those of
// `llmctl calibrate`, from a user's own.
//
// The constants of one engine on one family of accelerators for one kind of
// model are, in logarithms, a general value plus a deviation of the engine, one of
// the family and one of the kind. Deviations are drawn to zero by a ridge
// penalty, so that what a few points can not tell apart stays general (partial
// pooling; Gelman & Hill, Data Analysis Using Regression, ch. 12).
//
// A published mean time to first token contains the start of its run, in which all
// clients send at once: a tenth of it, with ten requests per client. It is predicted so
// (cost.ClosedLoad.Rounds) and fitted together with the times per token, with a third of
// their weight in logarithms. A plan's TTFT is that of the steady state.
//
// Reading order: point.go (a measurement), published.go (of others), pool.go
// (constants as sums of effects), solve.go (the fit), holdout.go and margins.go
// (errors on what was held out), table.go (the shipped table), csv.go and
// calibrate.go (a user's points).
package fit
