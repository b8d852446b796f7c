// Package atomicfile writes a file whole or not at all.
package atomicfile
