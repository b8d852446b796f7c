// Package health judges which endpoints are fit to be picked, from how earlier
// requests fared there. It is pure: the time comes in as an argument.
package health
