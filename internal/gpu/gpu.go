package gpu

// Device is one GPU as its driver describes it.
type Device struct {
	Name        string // e.g. "NVIDIA H100 80GB HBM3"
	MemoryBytes int64  // 0 when the driver does not say
	Driver      string
}
