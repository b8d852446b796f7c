// Package health judges which endpoints are fit to be picked, from how earlier
// requests fared there, and how often and when a failed request may be sent once
// more. It is pure: times come in as arguments, as offsets from a start of the
// caller's choice that never go back, and so does chance. Nothing here is safe
// for concurrent use.
package health
