package gateway

import "time"

// Config is the gateway's configuration file. ParseConfig reads it; keys that
// are not listed here are refused.
type Config struct {
	Listen    string     `yaml:"listen"`             // host:port of the API
	Admin     Admin      `yaml:"admin,omitempty"`    // metrics and health, apart from the API
	Store     Store      `yaml:"store,omitempty"`    // where limits are counted
	MaxBody   Size       `yaml:"max_body,omitempty"` // largest request body; 0 means DefaultMaxBody
	Tenants   []Tenant   `yaml:"tenants"`
	Providers []Provider `yaml:"providers"`
	Models    []Model    `yaml:"models"`
}

// Admin is the second listener. Without an address there is none.
type Admin struct {
	Listen   string `yaml:"listen,omitempty"`
	TokenEnv string `yaml:"token_env,omitempty"` // environment variable with the bearer token for /metrics
}

// Store says where state is kept.
type Store struct {
	Limits string `yaml:"limits,omitempty"` // "memory", also when empty: each gateway counts for itself
}

// Tenant is one customer: its keys, what it may spend and what it may call.
type Tenant struct {
	Name   string   `yaml:"name"`
	Keys   []Key    `yaml:"keys"`
	Limits Limits   `yaml:"limits,omitempty"`
	Models []string `yaml:"models,omitempty"` // aliases; absent means all, and an empty list is refused
}

// Key is one bearer key, as a hash or as the name of an environment variable
// that holds it, never in the clear. Its limits hold beside the tenant's.
type Key struct {
	Hash   string `yaml:"hash,omitempty"` // see HashKey
	KeyEnv string `yaml:"key_env,omitempty"`
	Limits Limits `yaml:"limits,omitempty"`
}

// Limits bound a tenant or a key; an absent one does not.
type Limits struct {
	RPM        Count `yaml:"rpm,omitempty"`        // requests per minute
	InputTPM   Count `yaml:"input_tpm,omitempty"`  // input tokens per minute
	OutputTPM  Count `yaml:"output_tpm,omitempty"` // output tokens per minute
	Concurrent Count `yaml:"concurrent,omitempty"` // requests at once
}

// Provider is a set of servers that speak the same protocol and serve the same
// models.
type Provider struct {
	Name      string   `yaml:"name"`
	Kind      string   `yaml:"kind,omitempty"` // "openai", also when empty
	Endpoints []string `yaml:"endpoints"`      // base URLs, with or without /v1
	KeyEnv    string   `yaml:"key_env,omitempty"`
	// CacheSalt sends each tenant's own cache_salt, which keeps tenants out of
	// each other's prefix cache. It is on when absent; vendors that refuse
	// fields they do not know need it off.
	CacheSalt *bool `yaml:"cache_salt,omitempty"`
	// StreamUsage asks for usage in streams, which metering needs. It is on
	// when absent; servers that refuse stream_options need it off, and their
	// tokens are then estimated.
	StreamUsage *bool `yaml:"stream_usage,omitempty"`
}

// Model is a name that clients use and the deployments behind it.
type Model struct {
	Alias     string    `yaml:"alias"`
	MaxTokens MaxTokens `yaml:"max_tokens,omitempty"`
	Targets   []Target  `yaml:"targets"`
	Timeouts  Timeouts  `yaml:"timeouts,omitempty"`
}

// MaxTokens bounds the output of one request.
type MaxTokens struct {
	Default Count `yaml:"default,omitempty"` // for requests that name none; absent means Cap
	Cap     Count `yaml:"cap,omitempty"`     // larger requests are lowered to it
}

// Target is one deployment: a model of a provider and its share of the traffic.
type Target struct {
	Provider string `yaml:"provider"`
	Model    string `yaml:"model"`            // the name that the provider knows
	Weight   *int   `yaml:"weight,omitempty"` // 1 when absent; 0 switches the target off
}

// Timeouts bound one request. Absent ones have the defaults below.
type Timeouts struct {
	FirstToken Duration `yaml:"first_token,omitempty"` // streams: until the first event with output
	Idle       Duration `yaml:"idle,omitempty"`        // streams: between events afterwards
	Total      Duration `yaml:"total,omitempty"`       // the whole request
}

// Defaults for what a configuration leaves out.
const (
	DefaultFirstToken = 60 * time.Second
	DefaultIdle       = 60 * time.Second
	DefaultTotal      = 10 * time.Minute
	DefaultMaxBody    = 32 << 20 // takes images inline, as Anthropic's API does
)

func (t Timeouts) withDefaults() Timeouts {
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

func (t Target) weight() int {
	if t.Weight == nil {
		return 1
	}
	return *t.Weight
}

// on reads a switch that is on unless set to false.
func on(b *bool) bool { return b == nil || *b }
