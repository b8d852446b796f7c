package config

import (
	"slices"
	"time"
)

// Defaults for what a configuration leaves out.
const (
	DefaultFirstToken   = 60 * time.Second
	DefaultIdle         = 60 * time.Second
	DefaultTotal        = 10 * time.Minute
	DefaultMaxBody      = 32 << 20  // takes images inline, as Anthropic's API does
	DefaultMaxAnswer    = 256 << 20 // takes embeddings of thousands of texts
	DefaultStoreTimeout = 500 * time.Millisecond
	DefaultIdempotency  = 24 * time.Hour
	DefaultMetricsEvery = time.Second
	DefaultMaxQueue     = 1000
	DefaultQueueTimeout = 30 * time.Second
	DefaultAttempts     = 3
	DefaultBackoff      = 100 * time.Millisecond
	DefaultRetryBudget  = 0.2
	DefaultCacheTTL     = time.Hour
	DefaultCacheSize    = 64 << 20
	DefaultEmbedding    = 500 * time.Millisecond
	DefaultSimilarity   = 0.95
)

// WithDefaults returns t with its absent values filled.
func (t Timeouts) WithDefaults() Timeouts {
	set := func(d *Duration, v time.Duration) {
		if *d == 0 {
			*d = Duration(v)
		}
	}
	set(&t.FirstToken, DefaultFirstToken)
	set(&t.Idle, DefaultIdle)
	set(&t.Total, DefaultTotal)
	return t
}

// AllClasses are the latency classes, the first to go first: those that are listed,
// else interactive before batch.
func (c *Config) AllClasses() []Class {
	if len(c.Classes) == 0 {
		return []Class{{Name: "interactive", Priority: 0}, {Name: "batch", Priority: 1}}
	}
	return slices.SortedStableFunc(slices.Values(c.Classes), func(a, b Class) int { return a.Priority - b.Priority })
}

// Share is the target's weight, 1 when absent.
func (t Target) Share() int {
	if t.Weight == nil {
		return 1
	}
	return *t.Weight
}

// URLs are the provider's base URLs.
func (p Provider) URLs() []string {
	if p.BaseURL != "" {
		return []string{p.BaseURL}
	}
	return p.Endpoints
}

// On reads a switch that is on unless set to false.
func On(b *bool) bool { return b == nil || *b }
