// Package accuracy compares simulations with published measurements: every runnable
// row of the table of sizing/accuracy is simulated as it was measured, with
// constants of the step model from a fit that did not see it.
// `make accuracy-simulator` prints the comparison and writes
// docs/simulator-accuracy.md.
//
// Reading order: method.go (how rows were measured), measure.go (one simulation),
// compare.go (figures, groups and bars), knee.go (two cases that are about a curve),
// page.go (the page).
package accuracy
