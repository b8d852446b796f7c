//go:build race

package sizing

const underRace = true
