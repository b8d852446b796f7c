package cost

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/profiles"
)

// Constants are the engine's part of a step's time.
type Constants struct {
	PerLayerS     float64 // fixed seconds per layer
	MemoryFactor  float64 // time of memory traffic over its ideal
	ComputeFactor float64 // time of operations over their ideal
	Error         float64 // mean absolute relative error on what took no part in the fit
	Source        string
}

type constantsEntry struct {
	Engine        string  `yaml:"engine"`
	Family        string  `yaml:"family"`
	MoE           bool    `yaml:"moe"`
	PerLayerUS    float64 `yaml:"per_layer_us"`
	MemoryFactor  float64 `yaml:"memory_factor"`
	ComputeFactor float64 `yaml:"compute_factor"`
	Error         float64 `yaml:"error"`
	Source        string  `yaml:"source"`
}

//go:embed constants.yaml
var constantsFile []byte

var constantsTable = sync.OnceValue(func() []constantsEntry {
	var table []constantsEntry
	decoder := yaml.NewDecoder(bytes.NewReader(constantsFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&table); err != nil {
		panic(fmt.Sprintf("embedded constants.yaml: %v", err))
	}
	return table
})

// families are the accelerator generations, by the start of the key.
var families = []struct{ prefix, family string }{
	{"h100", "hopper"}, {"h200", "hopper"}, {"h20-", "hopper"}, {"h800", "hopper"},
	{"b200", "blackwell"}, {"b300", "blackwell"}, {"gb200", "blackwell"}, {"gb300", "blackwell"},
	{"rtx-pro-6000", "blackwell"}, {"rtx-5090", "blackwell"},
	{"a100", "ampere"}, {"a30", "ampere"}, {"a40", "ampere"}, {"a10g", "ampere"}, {"rtx-a6000", "ampere"}, {"rtx-3090", "ampere"},
	{"l4", "ada"}, {"rtx-4090", "ada"}, {"mi3", "cdna3"},
}

// Family is the generation of an accelerator, empty when it is not known.
func Family(accelerator string) string {
	for _, f := range families {
		if strings.HasPrefix(accelerator, f.prefix) {
			return f.family
		}
	}
	return ""
}

// ConstantsFor returns the constants for an engine on an accelerator. llmctl's
// own modeled engine imitates vLLM.
func ConstantsFor(e *profiles.Engine, a *profiles.Accelerator, moe bool) Constants {
	engine, family := e.Name, Family(a.Name)
	if engine == "llmctl" {
		engine = "vllm"
	}
	for _, entry := range constantsTable() {
		if entry.MoE == moe && (entry.Engine == "" || entry.Engine == engine) && (entry.Family == "" || entry.Family == family) {
			return Constants{
				PerLayerS: entry.PerLayerUS * 1e-6, MemoryFactor: entry.MemoryFactor,
				ComputeFactor: entry.ComputeFactor, Error: entry.Error, Source: entry.Source,
			}
		}
	}
	panic("constants.yaml has no entry that matches everything")
}
