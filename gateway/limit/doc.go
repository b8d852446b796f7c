// Package limit holds the counters behind limits whose cost is known only
// afterwards: token buckets, slots, and budgets of money by the calendar. A
// request reserves what it may use, and settles to what it did use. It is pure:
// time comes in as an argument, so the gateway drives it in real time, and it can
// be driven in virtual time.
package limit
