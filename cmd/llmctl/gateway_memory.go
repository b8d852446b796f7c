package main

import "runtime/debug"

// How the gateway's garbage is collected, unless GOGC says otherwise. Most of its
// memory is what thousands of open streams hold, which Go's default of 100 would
// double: 40 adds two fifths. Of a small heap that would be more than ten collections
// a second under load; a ballast, which is reckoned with and never touched, and so takes no
// memory of the machine, leaves it room.
const (
	collectAt = 40
	ballast   = 24 << 20
)

// tuneCollector returns the ballast, which has to be kept alive.
func tuneCollector() []byte {
	debug.SetGCPercent(collectAt)
	return make([]byte, ballast)
}
