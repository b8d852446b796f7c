// Package stats is percentiles, distributions and histograms. It holds the only
// percentile function of the project; every p50 and p99 that llmctl prints
// comes from here.
package stats
