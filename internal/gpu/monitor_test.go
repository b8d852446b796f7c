package gpu

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmctl/llmctl/reports/record"
)

// fake is a GPU that tells what the test says; a nil value it does not tell.
type fake struct {
	power, utilization, sm, memory, temperature *uint32
	used, energy                                *uint64
}

func tell[T any](v *T) (out T, ok bool) {
	if v == nil {
		return out, false
	}
	return *v, true
}

func (f fake) name() string                       { return "GPU" }
func (f fake) powerMilliwatts() (uint32, bool)    { return tell(f.power) }
func (f fake) utilizationPercent() (uint32, bool) { return tell(f.utilization) }
func (f fake) memoryUsedBytes() (uint64, bool)    { return tell(f.used) }
func (f fake) smClockMHz() (uint32, bool)         { return tell(f.sm) }
func (f fake) memoryClockMHz() (uint32, bool)     { return tell(f.memory) }
func (f fake) temperatureCelsius() (uint32, bool) { return tell(f.temperature) }
func (f fake) energyMillijoules() (uint64, bool)  { return tell(f.energy) }

func TestRead(t *testing.T) {
	idle := record.UnknownGPU()
	idle.PowerW = 0
	for _, tt := range []struct {
		name string
		gpu  fake
		want record.GPUSample
	}{
		{"all", fake{
			power: new(uint32(350_500)), utilization: new(uint32(97)), sm: new(uint32(1980)), memory: new(uint32(2619)),
			temperature: new(uint32(64)), used: new(uint64(72 << 30)), energy: new(uint64(5_000_250)),
		}, record.GPUSample{PowerW: 350.5, Utilization: 0.97, MemoryUsedBytes: 72 << 30, SMClockHz: 1.98e9, MemoryClockHz: 2.619e9, TemperatureC: 64, EnergyJ: 5000.25}},
		{"nothing", fake{}, record.UnknownGPU()},
		{"a measured 0", fake{power: new(uint32)}, idle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &Monitor{devices: []reader{tt.gpu}}
			if diff := cmp.Diff(tt.want, m.Read(0), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMonitorCloses(t *testing.T) {
	released := 0
	m := &Monitor{devices: []reader{fake{}, fake{}}, release: func() { released++ }}
	if diff := cmp.Diff([]string{"GPU", "GPU"}, m.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if m.Close(); released != 1 {
		t.Errorf("released %d times", released)
	}
}

// A machine without a GPU must be told so in words; one with a GPU can read it.
func TestOpenExplainsItself(t *testing.T) {
	m, err := Open()
	if err != nil {
		if err.Error() == "" || m != nil {
			t.Fatalf("Open() = %v, %q; want nothing beside a reason", m, err)
		}
		return
	}
	defer m.Close()
	for i, name := range m.Names() {
		if s := m.Read(i); name == "" || math.IsNaN(s.MemoryUsedBytes) {
			t.Errorf("device %d %q tells nothing", i, name)
		}
	}
}
