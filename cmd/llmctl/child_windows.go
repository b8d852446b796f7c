package main

import "syscall"

// yieldPriority does nothing here: the bundled engine runs like any other.
func yieldPriority() {}

// ownGroup starts a child in a process group of its own, so that a Ctrl-C in
// the terminal reaches the parent alone.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
