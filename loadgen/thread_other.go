//go:build !linux

package loadgen

import "runtime"

// ownThread prepares the calling goroutine for precise waits.
func ownThread() { runtime.LockOSThread() }
