// Package tui is the live terminal view of a run: one Bubble Tea model that is
// fed snapshots and draws them. It measures nothing, and everything that it
// shows is also in the report.
package tui
