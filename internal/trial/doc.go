// Package trial runs whole programs as measurements, for the bench commands: their
// CPU time and memory, the exact mock server beside them, and what machine it was.
package trial
