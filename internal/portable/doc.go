// Package portable computes elementary functions with the same result, bit for
// bit, on every machine. The standard library's have assembly on some
// architectures, and compilers for others fuse x*y + z into one rounding, so
// that a seed would mean another stream of requests there. Here every product
// that is added to something is rounded first, by an explicit conversion, as
// the language specification allows; + − × ÷ and square roots are exact to the
// last bit everywhere (IEEE 754).
//
// Results are within a few units in the last place of the true ones.
package portable
