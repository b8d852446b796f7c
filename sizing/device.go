package sizing

import "fmt"

// overrideMemory takes the memory of the accelerator as given, for instance
// from `nvidia-smi` on the machine that will serve.
func (s *situation) overrideMemory(bytes int64) error {
	switch {
	case bytes == 0:
		return nil
	case bytes < 1<<20 || bytes > 1<<50:
		return fmt.Errorf("--accelerator-memory %d is outside 2^20 to 2^50 bytes", bytes)
	}
	device := *s.device
	device.MemoryBytes, device.MemorySource = bytes, "given"
	s.device = &device
	return nil
}
