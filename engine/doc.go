// Package engine is the reference engine: the loop that joins scheduler, executor and streams.
package engine
