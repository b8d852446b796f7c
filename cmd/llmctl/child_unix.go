//go:build unix

package main

import "syscall"

// yieldPriority lets other processes go first: the bundled engine shares its
// machine with the client that measures it, and a client that has to wait for a
// processor measures itself.
func yieldPriority() {
	const nice = 10
	// The whole group, since Linux counts niceness by thread.
	_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, nice) // without it the run is only noisier
}

// ownGroup starts a child in a process group of its own, so that a Ctrl-C in
// the terminal reaches the parent alone.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
