// Package search finds the largest load that meets an objective, and the knee
// of a sweep of loads. It is pure: it decides what to try next from what was
// seen, whoever makes the runs, and starting again from saved points is the
// same as never having stopped.
package search
