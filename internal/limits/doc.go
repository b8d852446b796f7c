// Package limits reads the limits of this machine and process that a client of
// many connections runs into: open files and local ports.
package limits
