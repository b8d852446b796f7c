// Package buildinfo is the version that the binary was built as.
package buildinfo
