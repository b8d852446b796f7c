package profiles

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/llmctl/llmctl/internal/userfile"
)

// CPU is the key of the accelerator that is this machine's processors. It serves
// with llmctl's own engine alone, and its rates are nominal.
const CPU = "cpu"

// Accelerator is one device that serves models. Rates are dense (without
// sparsity) and per second.
type Accelerator struct {
	Name               string  // key, e.g. "h100-sxm-80gb"
	Title              string  // e.g. "H100 SXM 80GB"
	MemoryBytes        int64   // as the driver or an engine reports it
	MemorySource       string  // "log" or "catalogue"
	BandwidthBytesPerS float64 // memory bandwidth
	BF16FlopsPerS      float64 // dense bf16/fp16 tensor rate; 0 when unknown
	FP16Only           bool    // the 16-bit rate is fp16's, there is no bf16
	FP8FlopsPerS       float64 // 0 when the device has none
	FP4FlopsPerS       float64
	AttentionFlopsPerS float64 // rate of attention, where it is not the 16-bit one; 0 when it is
	INT8OpsPerS        float64 // dense tensor rate of 8-bit integers; 0 when unknown or none
	LinkBytesPerS      float64 // to a neighbour, one direction; 0 when unknown
	Link               string  // "NVLink4", "PCIe5", …
	PowerWatts         float64
	USDPerHour         float64 // list price of one device; 0 when no source has one
	PriceSource        string
	PriceDate          string // ISO date of the price
	Source             string
	Notes              string
}

// acceleratorEntry is one accelerator in data/accelerators.yaml or in a file of
// the user, in the units of datasheets.
type acceleratorEntry struct {
	Key         string  `yaml:"key"`
	Title       string  `yaml:"title,omitempty"`
	MemoryBytes int64   `yaml:"memory_bytes"`
	Memory      string  `yaml:"memory,omitempty"`
	Bandwidth   float64 `yaml:"bandwidth_gb_per_s"`
	BF16        float64 `yaml:"bf16_tflops,omitempty"`
	FP16Only    bool    `yaml:"fp16_only,omitempty"`
	FP8         float64 `yaml:"fp8_tflops,omitempty"`
	FP4         float64 `yaml:"fp4_tflops,omitempty"`
	Attention   float64 `yaml:"attention_tflops,omitempty"`
	INT8        float64 `yaml:"int8_tops,omitempty"`
	LinkRate    float64 `yaml:"link_gb_per_s,omitempty"`
	Link        string  `yaml:"link,omitempty"`
	Power       float64 `yaml:"power_w,omitempty"`
	USDPerHour  float64 `yaml:"usd_per_hour,omitempty"`
	PriceSource string  `yaml:"price_source,omitempty"`
	PriceDate   string  `yaml:"price_date,omitempty"`
	Source      string  `yaml:"source,omitempty"`
	Notes       string  `yaml:"notes,omitempty"`
}

var acceleratorIndex = sync.OnceValue(func() []acceleratorEntry {
	entries := readEmbedded[[]acceleratorEntry]("accelerators.yaml")
	slices.SortFunc(entries, func(a, b acceleratorEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries
})

// AcceleratorNames returns the keys of the built-in accelerators in order.
func AcceleratorNames() []string {
	var names []string
	for _, e := range acceleratorIndex() {
		names = append(names, e.Key)
	}
	return names
}

// LoadAccelerator returns the accelerator that ref names: a built-in key, or a
// YAML file as `llmctl profiles accelerators show` prints it.
func LoadAccelerator(ref string) (*Accelerator, error) {
	for _, e := range acceleratorIndex() {
		if strings.EqualFold(e.Key, ref) {
			return e.accelerator(), nil
		}
	}
	if !isYAML(ref) {
		return nil, unknown("accelerator", ref, AcceleratorNames(), "expected a name from `llmctl profiles accelerators` or a YAML file")
	}
	data, err := userfile.Read(ref, userfile.YAMLLimit)
	if err != nil {
		return nil, fmt.Errorf("reading accelerator: %w", err)
	}
	a, err := ParseAccelerator(data)
	if err != nil {
		return nil, fmt.Errorf("reading accelerator %s: %w", ref, err)
	}
	return a, nil
}

// ParseAccelerator reads one accelerator in YAML.
func ParseAccelerator(data []byte) (*Accelerator, error) {
	var e acceleratorEntry
	if err := userfile.DecodeYAML(data, &e); err != nil {
		return nil, err
	}
	switch {
	case e.Key == "":
		return nil, fmt.Errorf("key is missing")
	case e.MemoryBytes <= 0 || e.MemoryBytes > 1<<50:
		return nil, fmt.Errorf("memory_bytes %d is outside 1 to 2^50", e.MemoryBytes)
	}
	for _, f := range []struct {
		name       string
		value, low float64
	}{
		{"bandwidth_gb_per_s", e.Bandwidth, 1e-3}, {"bf16_tflops", e.BF16, 0}, {"fp8_tflops", e.FP8, 0}, {"fp4_tflops", e.FP4, 0}, {"attention_tflops", e.Attention, 0}, {"int8_tops", e.INT8, 0},
		{"link_gb_per_s", e.LinkRate, 0}, {"power_w", e.Power, 0},
	} {
		if !(f.value >= f.low && f.value <= 1e9) {
			return nil, fmt.Errorf("%s %v is outside %v to 1e9", f.name, f.value, f.low)
		}
	}
	if err := CheckHourlyPrice(e.USDPerHour); e.USDPerHour != 0 && err != nil {
		return nil, fmt.Errorf("usd_per_hour %w", err)
	}
	return e.accelerator(), nil
}

// MarshalYAML writes the accelerator as ParseAccelerator reads it.
func (a Accelerator) MarshalYAML() (any, error) {
	return acceleratorEntry{
		Key: a.Name, Title: a.Title, MemoryBytes: a.MemoryBytes, Memory: a.MemorySource,
		Bandwidth: a.BandwidthBytesPerS / 1e9, BF16: a.BF16FlopsPerS / 1e12, FP16Only: a.FP16Only, FP8: a.FP8FlopsPerS / 1e12, FP4: a.FP4FlopsPerS / 1e12, Attention: a.AttentionFlopsPerS / 1e12, INT8: a.INT8OpsPerS / 1e12,
		LinkRate: a.LinkBytesPerS / 1e9, Link: a.Link, Power: a.PowerWatts,
		USDPerHour: a.USDPerHour, PriceSource: a.PriceSource, PriceDate: a.PriceDate, Source: a.Source, Notes: a.Notes,
	}, nil
}

func (e acceleratorEntry) accelerator() *Accelerator {
	return &Accelerator{
		Name: e.Key, Title: e.Title, MemoryBytes: e.MemoryBytes, MemorySource: e.Memory,
		BandwidthBytesPerS: e.Bandwidth * 1e9, BF16FlopsPerS: e.BF16 * 1e12, FP16Only: e.FP16Only, FP8FlopsPerS: e.FP8 * 1e12, FP4FlopsPerS: e.FP4 * 1e12, AttentionFlopsPerS: e.Attention * 1e12, INT8OpsPerS: e.INT8 * 1e12,
		LinkBytesPerS: e.LinkRate * 1e9, Link: e.Link, PowerWatts: e.Power,
		USDPerHour: e.USDPerHour, PriceSource: e.PriceSource, PriceDate: e.PriceDate, Source: e.Source, Notes: e.Notes,
	}
}

// isYAML reports whether ref is spelled like a YAML file.
func isYAML(ref string) bool {
	return strings.HasSuffix(ref, ".yaml") || strings.HasSuffix(ref, ".yml")
}

// CheckHourlyPrice refuses dollars per accelerator and hour that no one takes: a
// tenth of a cent is far below the cheapest, and a million far above the dearest.
func CheckHourlyPrice(usd float64) error {
	if !(usd >= 1e-3 && usd <= 1e6) {
		return fmt.Errorf("%v is outside 0.001 to 1,000,000 $", usd)
	}
	return nil
}
