package store

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/llmctl/llmctl/gateway/limit"
)

// lent is a reservation of the Redis store.
type lent struct {
	r       *Redis
	id      string
	account Account
	shared  *shared
	use     limit.Use
	alone   Reservation // in the local counters, of one that was admitted without Redis
	closed  atomic.Bool
}

// admit enters a reservation into the books, from which it is renewed.
func (r *Redis) admit(l *lent) {
	r.books.Lock()
	defer r.books.Unlock()
	r.open[l.id] = l
	r.sums.Reserve(l.use)
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
	used limit.Use
}

// args are those of settle.lua. It does not know a reservation that was made
// without it, and is told the scopes.
func (s *settlement) args() []any {
	args := appendUse([]any{s.id}, s.used)
	if s.alone != nil {
		for _, scope := range s.shared.scopes {
			args = append(args, scope.field())
		}
	}
	return args
}

// send settles in Redis, or keeps the settlement until Redis is back.
func (r *Redis) send(s *settlement) {
	_, err := r.run(context.Background(), settleScript, s.shared.keys, s.args())
	switch {
	case outage(err):
		r.link.later(s)
	case err != nil:
		r.link.refused(s, err)
	}
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
