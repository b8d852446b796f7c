// Package tui is the live terminal view of a run.
package tui
