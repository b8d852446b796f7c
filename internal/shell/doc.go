// Package shell writes command lines that can be pasted into a POSIX shell.
package shell
