// Package queue holds requests that wait for a place at an endpoint: bounded,
// ordered by priority and then fair among tenants. It is pure: it knows no time,
// and starts nothing. It is not safe for concurrent use.
package queue
