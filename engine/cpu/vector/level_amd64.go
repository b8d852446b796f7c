package vector

import "golang.org/x/sys/cpu"

// Supported is the highest level of this machine.
func Supported() Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasF16C:
		return Plain
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512VNNI:
		return AVX512
	}
	return AVX2
}
