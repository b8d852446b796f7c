package store

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
)

// maxBacklog bounds the settlements that wait for Redis: some minutes of a busy
// gateway, in a few dozen megabytes.
const maxBacklog = 200_000

// Waits between looks at a Redis that is down.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

// link knows whether Redis can be reached. Its goroutine renews leases while it
// can, and looks for it while it can not.
type link struct {
	r    *Redis
	log  *slog.Logger
	down atomic.Bool
	lost atomic.Bool   // Redis has forgotten something
	wake chan struct{} // there is something to do now
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	backlog []*settlement
	dropped int64
}

// Health is how the store fares.
type Health struct {
	Down    bool
	Backlog int   // settlements that wait for Redis
	Dropped int64 // of all, those that were given up since too many waited
}

// Health tells how the store fares.
func (r *Redis) Health() Health {
	r.link.mu.Lock()
	defer r.link.mu.Unlock()
	return Health{r.link.down.Load(), len(r.link.backlog), r.link.dropped}
}

func newLink(r *Redis) *link {
	l := &link{r: r, log: r.options.Logger, wake: make(chan struct{}, 1)}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.done.Go(func() { l.watch(ctx) })
	return l
}

// broke notes that a call failed.
func (l *link) broke(err error) {
	if !l.down.Swap(true) {
		l.log.Warn("limits: Redis cannot be reached", "when_down", cmp.Or(l.r.options.WhenDown, Refuse), "cause", err.Error())
		l.nudge()
	}
}

// later keeps a settlement that could not be sent.
func (l *link) later(s *settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.backlog) >= maxBacklog {
		l.dropped++
		return
	}
	l.backlog = append(l.backlog, s)
	l.nudge()
}

// refused notes a settlement that Redis will never take. What it held expires.
func (l *link) refused(s *settlement, err error) {
	l.log.Error("limits: Redis refused a settlement", "tenant", s.account.Tenant, "cause", err.Error())
}

// miss notes that Redis does not know what it was told: it was emptied.
func (l *link) miss() {
	if !l.lost.Swap(true) {
		l.nudge()
	}
}

func (l *link) reseed(ctx context.Context) {
	if l.r.options.Recovered != nil {
		l.r.options.Recovered(ctx)
	}
}

// owed is what Redis has not heard of yet that an account has spent.
func (l *link) owed(a Account) (sum limit.Money) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.backlog {
		if s.account.Tenant == a.Tenant && (a.Key == "" || s.account.Key == a.Key) {
			sum += s.used.Cost
		}
	}
	return sum
}

func (l *link) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *link) watch(ctx context.Context) {
	renewal, reseeding := time.NewTicker(lease/3), time.NewTicker(lease)
	defer renewal.Stop()
	defer reseeding.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewal.C:
			l.r.renew(ctx)
		case <-reseeding.C:
			if !l.down.Load() {
				l.reseed(ctx)
			}
		case <-l.wake:
			l.recover(ctx)
		}
	}
}

// recover returns when Redis answers and has heard of everything, or at the end of
// ctx.
func (l *link) recover(ctx context.Context) {
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		if l.catchUp(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// catchUp tries to bring Redis up to date, and reports whether it is.
func (l *link) catchUp(ctx context.Context) bool {
	if l.down.Load() {
		if err := l.ping(ctx); err != nil {
			return false
		}
		l.lost.Store(true)
	}
	if l.lost.Swap(false) {
		l.reseed(ctx)
	}
	sent := 0
	for {
		s, ok := l.next()
		if !ok {
			break
		}
		if answer, err := l.r.runNow(ctx, settleScript, s.shared.keys, s.args()); l.r.sent(s, answer, err) {
			return false
		}
		l.mu.Lock()
		l.backlog[0] = nil
		l.backlog = l.backlog[1:]
		l.mu.Unlock()
		sent++
	}
	if l.down.Swap(false) {
		l.log.Info("limits: Redis is back", "settlements", sent, "dropped", l.r.Health().Dropped)
		l.r.renew(ctx)
	}
	return true
}

func (l *link) next() (*settlement, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.backlog) == 0 {
		l.backlog = nil
		return nil, false
	}
	return l.backlog[0], true
}

func (l *link) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.r.options.Patience)
	defer cancel()
	return l.r.client.Ping(ctx).Err()
}

func (l *link) close() {
	l.stop()
	l.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 4*l.r.options.Patience)
	defer cancel()
	l.catchUp(ctx)
}
