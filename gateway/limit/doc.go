// Package limit holds the token buckets behind rate limits whose cost is known
// only afterwards: a request reserves what it may use, and settles to what it
// did use. It is pure: time comes in as an argument, so the gateway drives it in
// real time, and it can be driven in virtual time.
package limit
