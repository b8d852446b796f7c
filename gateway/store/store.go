package store

import (
	"context"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
)

// Account is whose limits a request counts against: those of a tenant as a whole,
// when Key is empty, or those of the tenant and of one of its keys.
type Account struct{ Tenant, Key string }

// name is how rejections call the account's own scope.
func (a Account) name() string {
	if a.Key == "" {
		return fmt.Sprintf("tenant %q", a.Tenant)
	}
	return fmt.Sprintf("key %q of tenant %q", a.Key, a.Tenant)
}

// Scope is what bounds a tenant as a whole, or one of its keys.
type Scope struct {
	Account
	limit.Bounds
}

// Standing is a scope with what its counters hold.
type Standing struct {
	Scope
	limit.State
}

// Limits is where limits are counted. It is safe for concurrent use.
type Limits interface {
	// Configure replaces all scopes. One that was there before keeps what it has
	// counted; one that is gone still serves the requests that know it, until
	// the next Configure.
	Configure(scopes []Scope)
	// Reserve takes what a request may use from its tenant and its key, or
	// nothing. The levels are those after it. The error is a *limit.Rejection,
	// an *Unavailable, or that of ctx.
	Reserve(ctx context.Context, a Account, ask limit.Ask) (Reservation, limit.Levels, error)
	// Levels returns what is left to an account, for a request that takes nothing.
	Levels(ctx context.Context, a Account) (limit.Levels, error)
	// Seed says what a scope has spent in this day and month, as the ledger of
	// usage knows it. It never lowers what is counted.
	Seed(ctx context.Context, a Account, day, month limit.Money) error
	// Standing returns the counters of a tenant, its own scope first.
	Standing(ctx context.Context, tenant string) ([]Standing, error)
	// Ledger returns the sums over the reservations of this process.
	Ledger() limit.Ledger
	// Close waits for what is still to be written.
	Close()
}

// Reservation is one admitted request. The first Settle or Abandon closes it;
// later calls change nothing and return false. Both are quick, and are to be
// called whatever became of the request's context.
type Reservation interface {
	Reserved() limit.Use
	Settle(used limit.Use) (limit.Settlement, bool)
	Abandon() (limit.Settlement, bool)
}

// Unavailable is the error of a store that cannot be reached.
type Unavailable struct{ RetryAfter time.Duration }

func (*Unavailable) Error() string { return "the store of limits cannot be reached" }

// unknown is the error of an account that no configuration has named. No caller
// can see it but one that was removed twice over while its request was read.
func unknown(a Account) error { return fmt.Errorf("no limits are configured for %s", a.name()) }
