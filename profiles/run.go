package profiles

import (
	"encoding/json"
	"errors"
	"time"
)

// Run says how long a scenario is simulated or measured, and how often. Zero fields
// and nil pointers mean "not said". Size has no use for it.
type Run struct {
	Requests int            // that are measured, in the place of Duration
	Duration time.Duration  // of the measurement
	Warmup   *time.Duration // before it; requests of it do not count
	Drain    *time.Duration // after it, for requests in flight to end
	Seed     *uint64        // of all that is left to chance
	Repeat   int            // times, each with a seed or with prompts of its own
}

// largestSeed is the largest number up to which all have an exact float64, so that
// a seed is the same in every reader of JSON.
const largestSeed = 1 << 53

func (r *Run) form() form { return form{what: "run"} }

func (r *Run) slots() []slot {
	return []slot{
		{name: "requests", to: &r.Requests, as: count(1, 1<<40)},
		{name: "duration", to: &r.Duration, as: above0(period(longestTime))},
		{name: "warmup", to: &r.Warmup, as: period(longestTime)},
		{name: "drain", to: &r.Drain, as: period(longestTime)},
		{name: "seed", to: &r.Seed, as: measure{parse: wholeNumber, format: formatNumber, high: largestSeed}},
		{name: "repeat", to: &r.Repeat, as: count(1, 1000)},
	}
}

// Validate reports values out of range, and two that both bound the run.
func (r *Run) Validate() error {
	if r.Requests > 0 && r.Duration > 0 {
		return errors.New("duration and requests both bound the run; give one of them")
	}
	return checkSlots(r)
}

// IsZero reports a run of which nothing was said.
func (r Run) IsZero() bool { return !said(&r) }

// Over returns r with what it leaves unsaid taken from base. A number of requests
// leaves no place for a duration, nor the other way round.
func (r Run) Over(base Run) Run {
	if r.Requests > 0 || r.Duration > 0 {
		base.Requests, base.Duration = 0, 0
	}
	overlay(&r, &base)
	return r
}

// MarshalJSON writes what was said, with units in the keys.
func (r Run) MarshalJSON() ([]byte, error) { return json.Marshal(sectionJSON(&r)) }

// Said is what was said, as flags have it: values by key, in the order of the
// grammar.
func (r Run) Said(yield func(key, value string) bool) {
	for _, s := range r.slots() {
		if s.said() && !yield(s.name, s.text()) {
			return
		}
	}
}

// Set takes the value of a key.
func (r *Run) Set(key, value string) error {
	s, err := findSlot(key, r.form().what, r.slots())
	if err != nil {
		return err
	}
	return s.set(value)
}
