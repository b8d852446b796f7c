package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/llmctl/llmctl/gateway/limit"
)

// lease is how long a reservation outlives a gateway that died; a living one
// renews it three times as often.
const lease = 30 * time.Second

// WhenDown says what becomes of requests while Redis cannot be reached.
type WhenDown string

// The choices of WhenDown.
const (
	Refuse WhenDown = "refuse" // requests with limits get an *Unavailable
	Local  WhenDown = "local"  // this gateway counts alone, and reports what was used when Redis is back
)

// RedisOptions are the dependencies of a Redis store.
type RedisOptions struct {
	WhenDown WhenDown      // Refuse when empty
	Patience time.Duration // the longest that a call waits for Redis; later ones do not wait until it answers again
	Now      func() time.Time
	Logger   *slog.Logger
	// Recovered is called when Redis may have lost what was counted, so that budgets
	// can be seeded: when it can be reached again, before anybody counts on it; when it
	// turns out to have forgotten; and now and then, for it may have come back with an
	// older copy and nobody has noticed.
	Recovered func(context.Context)
}

// Redis counts limits that several gateways share.
type Redis struct {
	client  redis.UniversalClient
	options RedisOptions
	local   *Memory // counts while Redis is away
	link    *link

	instance string // makes ids of reservations unique
	serial   atomic.Int64

	mu       sync.RWMutex
	scopes   map[Account]Scope
	accounts map[Account]*shared
	former   map[Account]*shared

	books  sync.Mutex // guards what follows
	open   map[string]*lent
	births map[string]string // of tenants' counters, as last heard of
	sums   limit.Ledger
}

// shared is an account as Redis sees it: the keys of its tenant, and those of its
// scopes that have bounds.
type shared struct {
	keys   []string
	scopes []Scope
}

// NewRedis returns a store behind a redis:// or rediss:// URL, of a cluster when it
// names further nodes as addr=host:port. password replaces the URL's own when it
// is not empty. It does not wait for Redis: until it can be reached, requests are
// served as WhenDown says. Errors do not quote the URL.
func NewRedis(address, password string, o RedisOptions) (*Redis, error) {
	client, err := Dial(address, password, o.Patience)
	if err != nil {
		return nil, err
	}
	r := &Redis{
		client: client, options: o, local: NewMemory(o.Now),
		instance: rand.Text(), open: map[string]*lent{}, births: map[string]string{},
	}
	r.link = newLink(r)
	return r, nil
}

// Configure implements Limits.
func (r *Redis) Configure(scopes []Scope) {
	r.local.Configure(scopes)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scopes, r.former, r.accounts = map[Account]Scope{}, r.accounts, map[Account]*shared{}
	for _, s := range scopes {
		r.scopes[s.Account] = s
	}
	for a, own := range r.scopes {
		s := &shared{keys: keysOf(a.Tenant)}
		if whole, ok := r.scopes[Account{Tenant: a.Tenant}]; ok && a.Key != "" && whole.Any() {
			s.scopes = append(s.scopes, whole)
		}
		if own.Any() {
			s.scopes = append(s.scopes, own)
		}
		r.accounts[a] = s
	}
}

func (r *Redis) find(a Account) *shared {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s, ok := r.accounts[a]; ok {
		return s
	}
	return r.former[a]
}

// Reserve implements Limits. What has no limits does not go through Redis.
func (r *Redis) Reserve(ctx context.Context, a Account, ask limit.Ask) (Reservation, limit.Levels, error) {
	s := r.find(a)
	if s == nil {
		return nil, limit.Levels{}, unknown(a)
	}
	span := ask.Within(s.bounds()...)
	held := &lent{r: r, id: r.newID(), account: a, shared: s, use: span.Most}
	if len(s.scopes) == 0 {
		r.admit(held)
		return held, limit.Levels{}, nil
	}
	answer, err := r.take(ctx, held, span)
	switch {
	case err == nil:
	case errors.Is(err, errReply) || !outage(err):
		return nil, limit.Levels{}, fmt.Errorf("counting the limits of %s: %w", a.name(), err)
	case ctx.Err() != nil: // the client left; what Redis may hold for it expires
		return nil, limit.Levels{}, ctx.Err()
	case r.options.WhenDown == Local:
		return r.alone(ctx, a, ask, held)
	default:
		return nil, limit.Levels{}, &Unavailable{RetryAfter: time.Second}
	}
	counters, revived := s.revive(answer)
	levels := counters.Levels(answer.at, revived...)
	if !answer.fits {
		if refused := counters.Check(answer.at, span, revived...); refused != nil {
			return nil, levels, refused
		}
		return nil, levels, errReply // the two would have to disagree on the rules
	}
	held.use, held.birth = answer.granted, answer.birth
	if r.admit(held) {
		r.link.miss()
	}
	return held, levels, nil
}

func (s *shared) bounds() []limit.Bounds {
	bounds := make([]limit.Bounds, len(s.scopes))
	for i, scope := range s.scopes {
		bounds[i] = scope.Bounds
	}
	return bounds
}

// revive makes the policy's own scopes of what Redis answered, which say how long
// to wait and what is left.
func (s *shared) revive(answer reply) (*limit.Limiter, []*limit.Scope) {
	l := &limit.Limiter{}
	l.SetOrigin(time.Unix(0, 0))
	scopes := make([]*limit.Scope, len(answer.states))
	for i, state := range answer.states {
		scopes[i] = limit.Revive(s.scopes[i].name(), s.scopes[i].Bounds, state)
	}
	return l, scopes
}

func (r *Redis) newID() string { return r.instance + "." + strconv.FormatInt(r.serial.Add(1), 36) }

// take runs the reservation in Redis.
func (r *Redis) take(ctx context.Context, l *lent, s limit.Span) (reply, error) {
	args := make([]any, 0, 10+9*len(l.shared.scopes))
	args = appendUse(append(args, l.id, lease.Microseconds()), s.Most)
	args = append(appendMoney(append(args, s.Least.Output), s.Least.Cost), s.Requests())
	for _, s := range l.shared.scopes {
		args = appendScope(args, s)
	}
	answer, err := parseReply(r.run(ctx, reserveScript, l.shared.keys, args))
	if err == nil && len(answer.states) != len(l.shared.scopes) {
		err = errReply
	}
	answer.granted.Input = s.Most.Input
	return answer, err
}

// errDown is why no call was made.
var errDown = errors.New("redis is down")

// run runs a script, with patience. A failure of Redis, which is neither the
// caller's nor the script's, parts the store from it until it answers again: no
// other request shall wait as long.
func (r *Redis) run(ctx context.Context, s *redis.Script, keys []string, args []any) (any, error) {
	if r.link.down.Load() {
		return nil, errDown
	}
	v, err := r.runNow(ctx, s, keys, args)
	if ctx.Err() == nil && outage(err) {
		r.link.broke(err)
	}
	return v, err
}

func (r *Redis) runNow(ctx context.Context, s *redis.Script, keys []string, args []any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Patience)
	defer cancel()
	return s.Run(ctx, r.client, keys, args...).Result()
}

// outage tells an error that concerns all calls from one of this call.
func outage(err error) bool {
	if err == nil {
		return false
	}
	if _, replied := errors.AsType[redis.Error](err); !replied {
		return true
	}
	for _, prefix := range []string{
		"BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN", "WRONGPASS",
	} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// Seed implements Limits. A scope without a budget is left alone.
func (r *Redis) Seed(ctx context.Context, a Account, day, month limit.Money) error {
	r.mu.RLock()
	scope, ok := r.scopes[a]
	r.mu.RUnlock()
	switch {
	case !ok:
		return unknown(a)
	case scope.Budgets == limit.Budgets{}:
		return nil
	}
	if err := r.local.Seed(ctx, a, day, month); err != nil {
		return err
	}
	owed := r.link.owed(a) // the ledger has it already, and Redis will
	args := appendMoney(appendMoney([]any{a.field()}, max(day-owed, 0)), max(month-owed, 0))
	birth, err := r.runNow(ctx, seedScript, keysOf(a.Tenant), append(args, r.newID()))
	if err != nil {
		if ctx.Err() == nil && outage(err) {
			r.link.broke(err) // so that it is seeded when it is back
		}
		return fmt.Errorf("seeding the budget of %s: %w", a.name(), err)
	}
	if birth, ok := birth.(string); ok {
		r.books.Lock()
		r.born(a.Tenant, birth)
		r.books.Unlock()
	}
	return nil
}

// Levels implements Limits.
func (r *Redis) Levels(ctx context.Context, a Account) (limit.Levels, error) {
	s := r.find(a)
	if s == nil {
		return limit.Levels{}, unknown(a)
	}
	if len(s.scopes) == 0 {
		return limit.Levels{}, nil
	}
	answer, err := r.look(ctx, s.keys, s.scopes)
	if err != nil {
		return limit.Levels{}, err
	}
	counters, revived := s.revive(answer)
	return counters.Levels(answer.at, revived...), nil
}

// Standing implements Limits.
func (r *Redis) Standing(ctx context.Context, tenant string) ([]Standing, error) {
	all, err := r.local.Standing(ctx, tenant)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	scopes := make([]Scope, len(all))
	for i, s := range all {
		scopes[i] = s.Scope
	}
	answer, err := r.look(ctx, keysOf(tenant), scopes)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].State = answer.states[i]
	}
	return all, nil
}

// look reads scopes of one tenant.
func (r *Redis) look(ctx context.Context, keys []string, scopes []Scope) (reply, error) {
	var args []any
	for _, s := range scopes {
		args = append(args, s.field(), s.RPM, s.InputTPM, s.OutputTPM)
	}
	answer, err := parseReply(r.run(ctx, lookScript, keys, args))
	if err == nil && len(answer.states) != len(scopes) {
		err = errReply
	}
	if err != nil {
		return reply{}, fmt.Errorf("reading the limits of tenant %q: %w", scopes[0].Tenant, err)
	}
	return answer, nil
}

// Ledger implements Limits.
func (r *Redis) Ledger() limit.Ledger {
	r.books.Lock()
	defer r.books.Unlock()
	return r.sums
}

// Close sends what is still to be settled, if Redis is there, and leaves.
func (r *Redis) Close() {
	r.link.close()
	_ = r.client.Close() // nothing is in flight any more
}
