package store

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
)

// Memory counts the limits of one gateway.
type Memory struct {
	now     func() time.Time
	start   time.Time
	drift   atomic.Int64 // of the wall clock against the monotonic one, nanoseconds
	limiter limit.Limiter

	mu       sync.RWMutex
	scopes   map[Account]*counted
	accounts map[Account][]*limit.Scope // what a request of the account counts against
	former   map[Account][]*limit.Scope // those of the configuration before
}

type counted struct {
	Scope
	counters *limit.Scope
}

// NewMemory returns a store without scopes. The times of now should carry a
// monotonic reading, as those of time.Now do: rates follow it, and only budgets
// follow the wall clock.
func NewMemory(now func() time.Time) *Memory {
	m := &Memory{now: now, start: now()}
	m.limiter.SetOrigin(m.start)
	return m
}

// tolerated is how far the wall clock may move against the monotonic one before
// budgets follow it.
const tolerated = time.Second

// instant is the limiter's clock.
func (m *Memory) instant() time.Duration {
	t := m.now()
	elapsed := t.Sub(m.start)
	m.follow(t.Round(0).Sub(m.start.Round(0)) - elapsed)
	return elapsed
}

// follow takes in how far the wall clock has come to differ from the monotonic one.
func (m *Memory) follow(drift time.Duration) {
	if off := drift - time.Duration(m.drift.Load()); off > tolerated || off < -tolerated {
		m.drift.Store(int64(drift))
		m.limiter.SetOrigin(m.start.Add(drift))
	}
}

// Configure implements Limits.
func (m *Memory) Configure(scopes []Scope) {
	at := m.instant()
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.scopes
	m.scopes, m.former, m.accounts = map[Account]*counted{}, m.accounts, map[Account][]*limit.Scope{}
	for _, s := range scopes {
		c := &counted{Scope: s}
		if before := known[s.Account]; before != nil {
			c.counters = before.counters
		} else {
			c.counters = m.limiter.NewScope(s.name(), s.Limits)
		}
		m.limiter.Bound(at, c.counters, s.Bounds)
		m.scopes[s.Account] = c
	}
	for a, c := range m.scopes {
		m.accounts[a] = []*limit.Scope{c.counters}
		if whole := m.scopes[Account{Tenant: a.Tenant}]; a.Key != "" && whole != nil {
			m.accounts[a] = []*limit.Scope{whole.counters, c.counters}
		}
	}
}

func (m *Memory) find(a Account) []*limit.Scope {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if scopes, ok := m.accounts[a]; ok {
		return scopes
	}
	return m.former[a]
}

// Reserve implements Limits.
func (m *Memory) Reserve(_ context.Context, a Account, ask limit.Ask) (Reservation, limit.Levels, error) {
	scopes := m.find(a)
	if scopes == nil {
		return nil, limit.Levels{}, unknown(a)
	}
	at := m.instant()
	reserved, err := m.limiter.Reserve(at, ask, scopes...)
	levels := m.limiter.Levels(at, scopes...)
	if err != nil {
		return nil, levels, err
	}
	return held{m, reserved}, levels, nil
}

// Levels implements Limits.
func (m *Memory) Levels(_ context.Context, a Account) (limit.Levels, error) {
	scopes := m.find(a)
	if scopes == nil {
		return limit.Levels{}, unknown(a)
	}
	return m.limiter.Levels(m.instant(), scopes...), nil
}

// Seed implements Limits.
func (m *Memory) Seed(_ context.Context, a Account, day, month limit.Money) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := m.scopes[a]
	if c == nil {
		return unknown(a)
	}
	m.limiter.Seed(m.instant(), c.counters, day, month)
	return nil
}

// Standing implements Limits.
func (m *Memory) Standing(_ context.Context, tenant string) ([]Standing, error) {
	at := m.instant()
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []Standing
	for a, c := range m.scopes {
		if a.Tenant == tenant {
			all = append(all, Standing{c.Scope, m.limiter.State(at, c.counters)})
		}
	}
	slices.SortFunc(all, func(a, b Standing) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// Ledger implements Limits.
func (m *Memory) Ledger() limit.Ledger { return m.limiter.Ledger() }

// Close implements Limits; memory has nothing to write.
func (m *Memory) Close() {}

// held is a reservation in memory.
type held struct {
	m *Memory
	r *limit.Reservation
}

func (h held) Reserved() limit.Use { return h.r.Reserved }

func (h held) Settle(used limit.Use) (limit.Settlement, bool) { return h.r.Settle(h.m.instant(), used) }

func (h held) Abandon() (limit.Settlement, bool) { return h.r.Abandon(h.m.instant()) }
