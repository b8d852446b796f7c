// Package precise sleeps until a moment more exactly than the runtime's timers do,
// which fire up to about a millisecond late: those who wait for a moment let a timer
// take them to within Coarse of it, and Sleep the rest.
package precise
