package health

import "time"

// slots is how finely a window slides: it covers its length but for up to a
// tenth.
const slots = 10

// tally is two counts of the same span of time.
type tally struct{ all, some int64 }

// window is a tally over the latest part of time.
type window struct {
	span   time.Duration // of one slot
	counts [slots]tally
	latest int64 // slot that counts now
	sum    tally
}

func newWindow(length time.Duration) window { return window{span: max(1, length/slots)} }

// slide brings the window up to now.
func (w *window) slide(now time.Duration) {
	slot := int64(now / w.span)
	if slot-w.latest >= slots {
		w.counts, w.sum, w.latest = [slots]tally{}, tally{}, slot
	}
	for w.latest < slot {
		w.latest++
		old := &w.counts[w.latest%slots]
		w.sum.all -= old.all
		w.sum.some -= old.some
		*old = tally{}
	}
}

// add counts at now, and returns the sum of the window.
func (w *window) add(now time.Duration, all, some int64) tally {
	w.slide(now)
	c := &w.counts[w.latest%slots]
	c.all += all
	c.some += some
	w.sum.all += all
	w.sum.some += some
	return w.sum
}
