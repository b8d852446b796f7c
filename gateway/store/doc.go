// Package store keeps what limits count: in memory, for one gateway, or in Redis,
// for several that share their limits. The rules are those of gateway/limit in
// both; what is here is where the counters lie, and what happens when that place
// cannot be reached.
package store
