package health

import "time"

// Cooldown keeps an endpoint that gave no answer out of picking: a dead endpoint
// fails at once, so it always has the fewest requests in flight and would draw
// nearly all of them. After each period one request may try it again; only an
// answer brings the others back. The zero value is a fit endpoint.
//
// Times are offsets from a start of the caller's choice, and never go back.
type Cooldown struct {
	resting bool
	until   time.Duration
}

// Period is how long an endpoint is left alone after a failure: long enough that
// dialing it costs few requests anything, short enough that a restarted engine
// is soon of use.
const Period = 5 * time.Second

// Failed notes that the endpoint gave no answer.
func (c *Cooldown) Failed(now time.Duration) { c.resting, c.until = true, now+Period }

// Answered notes an answer, whatever it says.
func (c *Cooldown) Answered() { c.resting = false }

// Resting reports whether the endpoint is to be left alone.
func (c *Cooldown) Resting(now time.Duration) bool { return c.resting && now < c.until }

// Tried notes that a request goes to the endpoint. When that is the trial at the
// end of a period, a new one begins, so that no second request joins the trial.
func (c *Cooldown) Tried(now time.Duration) {
	if c.resting && now >= c.until {
		c.until = now + Period
	}
}
