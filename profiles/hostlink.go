package profiles

import "strings"

// NetworkBytesPerS is what one accelerator sends to another node unless something
// else is said: one 400 Gb/s adapter for each, as in NVIDIA's DGX H100 and H200
// (data sheet: eight ConnectX-7).
const NetworkBytesPerS = 50e9

// Bytes per second that a host and one accelerator move each way: x16 links of the
// PCI Express generations (PCI-SIG: 8, 16 and 32 GT/s per lane with 128b/130b
// coding, of which 16 lanes carry 15.8, 31.5 and 63 GB/s), and NVLink-C2C of
// Grace superchips (NVIDIA's GH200 and GB200 data sheets: 900 GB/s both ways
// together).
const (
	pcie3BytesPerS = 15.75e9
	pcie4BytesPerS = 31.5e9
	pcie5BytesPerS = 63e9
	c2cBytesPerS   = 450e9
)

// Network is the bytes per second that the accelerator sends to another replica
// where a link does not say: its adapter, or its own link where that is slower.
func (a *Accelerator) Network() float64 {
	if a.LinkBytesPerS > 0 {
		return min(a.LinkBytesPerS, NetworkBytesPerS)
	}
	return NetworkBytesPerS
}

// HostBytesPerS is what the accelerator and its host's memory move each way per
// second where an offload does not say. The data names a board's link to its
// neighbours only, whose generation tells that of the host's: NVLink 3 boards are
// on PCIe 4, later ones on PCIe 5. What is not known is taken as PCIe 4.
func (a *Accelerator) HostBytesPerS() float64 {
	switch name := strings.ToLower(a.Name); {
	case strings.HasPrefix(name, "gh200"), strings.HasPrefix(name, "gb200"), strings.HasPrefix(name, "gb300"):
		return c2cBytesPerS
	case a.Link == "PCIe3", a.Link == "NVLink2":
		return pcie3BytesPerS
	case a.Link == "PCIe5", strings.HasPrefix(a.Link, "NVLink4"), a.Link == "NVLink5", a.Link == "NVLink", a.Link == "Infinity Fabric":
		return pcie5BytesPerS
	}
	return pcie4BytesPerS
}
