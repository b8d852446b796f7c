package health

import "time"

// Rules say when a breaker opens and how it closes again.
type Rules struct {
	// It opens when, of at least MinRequests outcomes within Window, a share of
	// FailureRate or more were failures; at 0 with the first failure.
	Window      time.Duration
	MinRequests int64
	FailureRate float64 // 0..1
	// Open is how long the endpoint is then left alone, before Probes requests may
	// try it. When they all are answered it closes; the first failure opens it
	// for as long again.
	Open   time.Duration
	Probes int
}

// Period is how long an endpoint is left alone after it has failed: long enough
// that dialing it costs few requests anything, short enough that a restarted
// engine is soon of use.
const Period = 5 * time.Second

// Unanswered are rules for failures after which nothing can be expected of an
// endpoint, such as a refused connection: a dead endpoint fails at once, so it
// always has the fewest requests in flight and would draw nearly all of them.
func Unanswered() Rules { return Rules{Window: Period, MinRequests: 1, Open: Period, Probes: 1} }

// Unreliable are rules for failures that healthy endpoints have, too, such as
// time-outs under load: half of at least ten requests within ten seconds.
func Unreliable() Rules {
	return Rules{Window: 10 * time.Second, MinRequests: 10, FailureRate: 0.5, Open: Period, Probes: 1}
}

// Breaker keeps requests away from an endpoint that fails (the circuit breaker of
// Nygard, "Release It!", 2007).
//
//	closed ──too many failures──▶ open ──Open has passed──▶ half-open
//	  ▲                            ▲                          │    │
//	  │                            └───────a probe failed─────┘    │
//	  └────────────────────all probes were answered────────────────┘
//
// An outcome counts only while the breaker is in the state in which its request
// was sent: late failures do not prolong the rest, and late answers do not end
// it. A probe of which nothing is heard for as long as Open makes room for
// another one.
type Breaker struct {
	rules  Rules
	state  state
	epoch  uint32        // of the state: how many there were before
	until  time.Duration // the rest ends; half-open: the probes are given up
	window window
	out    int // probes that are under way
	right  int // probes that were answered
}

type state uint8

const (
	closed state = iota
	open
	halfOpen
)

// Pass is what a request gets that is sent to an endpoint. Its outcome is told
// with it, at most once.
type Pass struct {
	epoch uint32
	probe bool
}

// Probe reports whether the request decides if the breaker closes.
func (p Pass) Probe() bool { return p.probe }

// NewBreaker returns a closed breaker.
func NewBreaker(r Rules) *Breaker { return &Breaker{rules: r, window: newWindow(r.Window)} }

// Fit reports whether a request should go to the endpoint.
func (b *Breaker) Fit(now time.Duration) bool {
	return b.state == closed || now >= b.until || b.state == halfOpen && b.out+b.right < b.rules.Probes
}

// Probing reports whether the outcome of a probe is awaited, and no other one may
// go.
func (b *Breaker) Probing(now time.Duration) bool {
	return b.state == halfOpen && b.out > 0 && !b.Fit(now)
}

// Rests returns how long the endpoint is still left alone; 0 when it is not.
func (b *Breaker) Rests(now time.Duration) time.Duration {
	if b.state != open {
		return 0
	}
	return max(0, b.until-now)
}

// Tried notes that a request goes to the endpoint, fit or, where no other is
// there, not.
func (b *Breaker) Tried(now time.Duration) Pass {
	if b.state == closed || !b.Fit(now) {
		return Pass{epoch: b.epoch}
	}
	if now >= b.until {
		b.become(halfOpen)
		b.until = now + b.rules.Open
	}
	b.out++
	return Pass{epoch: b.epoch, probe: true}
}

// Answered notes an answer, whatever it says.
func (b *Breaker) Answered(now time.Duration, p Pass) {
	if p.epoch != b.epoch {
		return
	}
	switch b.state {
	case closed:
		b.window.add(now, 1, 0)
	case open: // it was tried for want of others, and is well
		b.become(closed)
	case halfOpen:
		b.Left(p)
		if b.right++; b.right >= b.rules.Probes {
			b.become(closed)
		}
	}
}

// Failed notes that there was no answer, or none of use.
func (b *Breaker) Failed(now time.Duration, p Pass) {
	if p.epoch != b.epoch {
		return
	}
	switch b.state {
	case closed:
		sum := b.window.add(now, 1, 1)
		if sum.all < b.rules.MinRequests || float64(sum.some) < b.rules.FailureRate*float64(sum.all) {
			return
		}
	case open:
		return
	case halfOpen:
	}
	b.become(open)
	b.until = now + b.rules.Open
}

// Left notes that a request ended by something that says nothing of the endpoint,
// such as a user who left. Its place as a probe is free again.
func (b *Breaker) Left(p Pass) {
	if p.epoch == b.epoch && p.probe {
		b.out--
	}
}

func (b *Breaker) become(s state) {
	b.state = s
	b.epoch++
	b.out, b.right = 0, 0
	b.window = newWindow(b.rules.Window)
}
