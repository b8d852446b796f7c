//go:build !integration

package sizing

// everyCase: the integration tier also runs the cases that take seconds each.
const everyCase = false
