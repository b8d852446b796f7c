// Package stats is percentiles, distributions and histograms.
package stats
