// Package sizing is the plan: memory, capacity, latency, replicas and money in closed form, each number with its derivation.
package sizing
