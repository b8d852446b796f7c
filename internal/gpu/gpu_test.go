package gpu

import "testing"

// A machine without a driver must be told so in words, never by a crash, and a
// machine with one must name its devices.
func TestListExplainsItself(t *testing.T) {
	devices, err := List()
	if err != nil {
		if err.Error() == "" || len(devices) != 0 {
			t.Fatalf("List() = %v, %q; want no devices beside a reason", devices, err)
		}
		return
	}
	for i, d := range devices {
		if d.Name == "" {
			t.Errorf("device %d has no name: %+v", i, d)
		}
	}
}
