package profiles

import (
	"bytes"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestEmbeddedDataLoads(t *testing.T) {
	for _, name := range ModelNames() {
		if _, err := LoadModel(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range AcceleratorNames() {
		a, err := LoadAccelerator(name)
		if err != nil || a.MemoryBytes == 0 || a.BandwidthBytesPerS == 0 || a.Source == "" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	for _, name := range []string{"t4-16gb", "v100-sxm-32gb"} {
		a, err := LoadAccelerator(name)
		if err != nil || !a.FP16Only {
			t.Fatalf("%s is not known to have no bf16: %v", name, err)
		}
		text, err := yaml.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseAccelerator(text); err != nil || *again != *a {
			t.Errorf("%s reads back as %+v, %v", name, again, err)
		}
	}
	for _, name := range EngineNames() {
		e, err := LoadEngine(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := e.Validate(); err != nil || e.Source == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range WorkloadNames() {
		p, err := LoadWorkloadProfile(name)
		if err != nil || p.Source == "" || p.Workload.Validate() != nil || p.SLO.Validate() != nil {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if n := len(ModelNames()); n < 50 {
		t.Errorf("%d built-in models, want at least 50", n)
	}
	if n := len(AcceleratorNames()); n < 15 {
		t.Errorf("%d accelerators, want at least 15", n)
	}
}

// TestEngineEntriesHaveKnownFields: entries are merged without a check of their
// keys, which a file of a user's gets.
func TestEngineEntriesHaveKnownFields(t *testing.T) {
	for _, entry := range readEmbedded[[]yaml.Node]("engines.yaml") {
		data, err := yaml.Marshal(&entry)
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		decoder.KnownFields(true)
		if err := decoder.Decode(new(Engine)); err != nil {
			t.Errorf("line %d: %v", entry.Line, err)
		}
	}
}
