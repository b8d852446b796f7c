package profiles

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/llmctl/llmctl/internal/units"
)

// Length is how long a simulation of a scenario lasts in virtual time. Zero fields
// mean "not said": what is left out is chosen for the load.
type Length struct {
	Duration time.Duration // of the measurement
	Requests int           // in the place of Duration
	Warmup   time.Duration // before it; below 0 is none
	Drain    time.Duration // after it, for what is in flight to end
}

func (l *Length) form() form { return form{what: "length"} }

func (l *Length) slots() []slot {
	return []slot{
		{name: "duration", to: &l.Duration, as: period(longestTime)},
		{name: "requests", to: &l.Requests, as: count(1, 1<<40)},
		{name: "warmup", to: &l.Warmup, as: warmup},
		{name: "drain", to: &l.Drain, as: period(longestTime)},
	}
}

// warmup is a time that may be none, which is −1.
var warmup = measure{
	unit: "_s", low: -1, high: float64(longestTime),
	parse: func(s string) (float64, error) {
		d, err := units.ParseDuration(s)
		if err == nil && d == 0 {
			d = -1
		}
		return float64(d), err
	},
	format: func(v float64) string { return max(0, time.Duration(v)).String() },
}

// Validate reports a value out of range, or two that both bound the run.
func (l *Length) Validate() error {
	if err := checkSlots(l); err != nil {
		return err
	}
	if l.Duration > 0 && l.Requests > 0 {
		return errors.New("duration and requests both bound the run; give one of them")
	}
	return nil
}

// MarshalJSON writes what was said, in seconds.
func (l Length) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, slot := range l.slots() {
		switch p := slot.to.(type) {
		case *time.Duration:
			if *p != 0 {
				out[slot.name+slot.as.unit] = max(0, *p).Seconds()
			}
		case *int:
			if *p != 0 {
				out[slot.name] = *p
			}
		}
	}
	return json.Marshal(out)
}
