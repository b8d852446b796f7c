package limits

import (
	"errors"
	"testing"
)

func TestThisMachine(t *testing.T) {
	if files, err := Files(); err == nil && files < 16 || err != nil && !errors.Is(err, ErrNotKnown) {
		t.Errorf("%d files, %v", files, err)
	}
	if low, high, err := Ports(); err == nil && (low < 1 || high < low || high > 65535) || err != nil && !errors.Is(err, ErrNotKnown) {
		t.Errorf("ports %d to %d, %v", low, high, err)
	}
}
