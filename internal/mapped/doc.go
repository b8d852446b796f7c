// Package mapped gives memory that is not of Go's heap.
//
// The bytes of large files come without being read: pages come from the disk when they
// are touched, and processes that open the same file share them. Small files are read
// into memory instead. Memory for a cache comes without a file.
//
// A mapped file that another program makes shorter loses its pages: on Unix, reading
// them ends the process (SIGBUS), as an error of the disk does. No check can
// prevent that. What writes model files puts a new one in the old one's place, which
// leaves the pages; who copies over a file that is being served does not. Windows
// refuses to shorten a file that is mapped.
package mapped
