package grammar

import "context"

// maxWork is how many steps compiling one grammar may take, each of some nanoseconds:
// half a second or so.
const maxWork = 1 << 25

// stretch is after how many steps a meter looks whether anybody still waits.
const stretch = 1 << 14

// A meter counts the steps of compiling one grammar. It ends the compilation by
// panicking with a failure, like all bounds.
type meter struct {
	ctx  context.Context
	left int // steps
	look int // steps until ctx is looked at
}

func newMeter(ctx context.Context) *meter { return &meter{ctx: ctx, left: maxWork} }

// spend takes n steps.
func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		tooLarge("its alternatives and optional parts overlap too much")
	}
	if m.look -= n; m.look > 0 {
		return
	}
	m.look = stretch
	if err := m.ctx.Err(); err != nil {
		panic(failure{err})
	}
}
