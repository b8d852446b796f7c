//go:build !unix

package telemetry

import "time"

// cpuTime is not known on this system.
func cpuTime() (used time.Duration, ok bool) { return 0, false }

// peakRSS is not known on this system.
func peakRSS() (bytes int, ok bool) { return 0, false }
