//go:build !amd64

package vector

// Supported is the highest level of this machine.
func Supported() Level { return Plain }
