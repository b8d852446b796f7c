package profiles

// Accelerator is one device that serves models. Rates are dense (without
// sparsity) and per second.
type Accelerator struct {
	Name               string  // key, e.g. "h100-sxm-80gb"
	Title              string  // e.g. "H100 SXM 80GB"
	MemoryBytes        int64   // as the driver or an engine reports it
	MemorySource       string  // "log" or "catalogue"
	BandwidthBytesPerS float64 // memory bandwidth
	BF16FlopsPerS      float64 // dense bf16/fp16 tensor rate; 0 when unknown
	FP8FlopsPerS       float64 // 0 when the device has none
	FP4FlopsPerS       float64
	LinkBytesPerS      float64 // to a neighbour, one direction; 0 when unknown
	Link               string  // "NVLink4", "PCIe5", …
	PowerWatts         float64
	USDPerHour         float64 // list price of one device; 0 when no source has one
	PriceSource        string
	PriceDate          string // ISO date of the price
	Source             string
	Notes              string
}
