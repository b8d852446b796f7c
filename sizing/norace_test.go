//go:build !race

package sizing

// underRace: comparisons with events run in one goroutine each, share nothing,
// and take ten times as long under the race detector, which has nothing to find.
const underRace = false
