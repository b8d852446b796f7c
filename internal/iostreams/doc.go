// Package iostreams is the one place that touches the process's streams, terminal and environment.
package iostreams
