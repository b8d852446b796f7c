package store

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/llmctl/llmctl/gateway/limit"
)

// lent is a reservation of the Redis store.
type lent struct {
	r       *Redis
	id      string
	account Account
	shared  *shared
	use     limit.Use
	birth   string      // of the counters in Redis that it was taken from
	alone   Reservation // in the local counters, of one that was admitted without Redis
	closed  atomic.Bool
}

// admit enters a reservation into the books, from which it is renewed. It reports
// whether Redis turns out to have lost what it had counted.
func (r *Redis) admit(l *lent) (lost bool) {
	r.books.Lock()
	defer r.books.Unlock()
	r.open[l.id] = l
	r.sums.Reserve(l.use)
	return l.birth != "" && r.born(l.account.Tenant, l.birth)
}

// alone admits a request by the local counters.
func (r *Redis) alone(ctx context.Context, a Account, ask limit.Ask, l *lent) (Reservation, limit.Levels, error) {
	held, levels, err := r.local.Reserve(ctx, a, ask)
	if err != nil {
		return nil, levels, err
	}
	l.alone, l.use = held, held.Reserved()
	r.admit(l)
	return l, levels, nil
}

func (l *lent) Reserved() limit.Use { return l.use }

func (l *lent) Abandon() (limit.Settlement, bool) { return l.Settle(limit.Use{}) }

// Settle closes the books at once. Redis hears of it now, or when it is back.
func (l *lent) Settle(used limit.Use) (limit.Settlement, bool) {
	if l.closed.Swap(true) {
		return limit.Settlement{}, false
	}
	used = used.Clamped()
	s := limit.Settle(l.use, used)
	l.r.books.Lock()
	delete(l.r.open, l.id)
	l.r.sums.Settle(s)
	l.r.books.Unlock()
	if l.alone != nil {
		l.alone.Settle(used)
	}
	if len(l.shared.scopes) > 0 {
		l.r.send(&settlement{lent: l, used: used})
	}
	return s, true
}

// settlement is what Redis has to hear of a closed reservation.
type settlement struct {
	*lent
	used  limit.Use
	again bool // Redis may have heard of it before
}

// args are those of settle.lua. What was admitted without Redis is never known to it,
// and is marked when it was charged.
func (s *settlement) args() []any {
	how := "first"
	if s.again && s.alone == nil {
		how = "again"
	}
	args := append(appendUse([]any{s.id}, s.used), how, s.birth)
	for _, scope := range s.shared.scopes {
		args = append(args, scope.field(), scope.RPM, scope.InputTPM, scope.OutputTPM)
	}
	return args
}

// lost is settle.lua's answer when Redis knew nothing of the reservation.
const lost = 2

// sent notes how a settlement went, and reports whether Redis has to be told again.
func (r *Redis) sent(s *settlement, answer any, err error) (again bool) {
	switch {
	case outage(err):
		s.again = s.again || heard(err)
		return true
	case err != nil:
		r.link.refused(s, err)
	case s.alone == nil && answer == int64(lost):
		r.link.miss()
	}
	return false
}

// heard tells whether Redis may have done what a call that failed asked for: not when
// it was never sent, or was answered with an error.
func heard(err error) bool {
	_, replied := errors.AsType[redis.Error](err)
	dial, ok := errors.AsType[*net.OpError](err)
	return !replied && !errors.Is(err, errDown) && (!ok || dial.Op != "dial")
}

// send settles in Redis, or keeps the settlement until Redis is back.
func (r *Redis) send(s *settlement) {
	if answer, err := r.run(context.Background(), settleScript, s.shared.keys, s.args()); r.sent(s, answer, err) {
		r.link.later(s)
	}
}

// born notes the birth of a tenant's counters, and reports whether it is another than
// before.
func (r *Redis) born(tenant, birth string) bool {
	before, known := r.births[tenant]
	r.births[tenant] = birth
	return known && before != birth
}

// renew keeps this gateway's open reservations from expiring.
func (r *Redis) renew(ctx context.Context) {
	type tenant struct {
		keys []string
		args []any
	}
	tenants := map[string]*tenant{}
	r.books.Lock()
	for id, l := range r.open {
		if l.alone != nil || len(l.shared.scopes) == 0 {
			continue
		}
		t := tenants[l.shared.keys[0]]
		if t == nil {
			t = &tenant{keys: l.shared.keys, args: []any{lease.Microseconds()}}
			tenants[l.shared.keys[0]] = t
		}
		t.args = append(t.args, id)
	}
	r.books.Unlock()
	for _, t := range tenants {
		first, ids := t.args[0], t.args[1:]
		for part := range slices.Chunk(ids, 1000) { // no script shall hold Redis up for long
			if _, err := r.run(ctx, renewScript, t.keys, append([]any{first}, part...)); err != nil {
				return
			}
		}
	}
}
