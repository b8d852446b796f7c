package conform

import (
	"time"
)

// Options say what is checked, and with what.
type Options struct {
	Endpoint string // base URL, with or without /v1
	Suite    Suite
	Pick     []string // globs over case IDs and groups; none picks all

	Model          string // on the wire; empty takes the only one that the endpoint lists
	EmbeddingModel string // empty is Model
	Context        int    // tokens of the model's window; 0 takes what the endpoint lists
	MaxBody        int64  // bytes of the largest request that the endpoint documents to take; 0 is unknown

	Key        string // bearer key; empty sends none
	SecondKey  string // of another tenant
	LimitedKey string // of a tenant with a small limit of requests a minute
	Metrics    string // URL of the engine's metrics page; empty leaves out the cases that need it

	Slow        bool          // the cases that take minutes, too
	CaseTimeout time.Duration // of one case; 0 is 30 s
	Timeout     time.Duration // of all; 0 is 10 min

	// How long the cases that wait do wait; tests shorten it. Zero takes the
	// defaults, which are what the reports behind the cases name.
	Idle   time.Duration // between two requests on one connection
	Long   time.Duration // a generation that no cut-off may shorten
	Linger time.Duration // for the end of a body after its last event
	Settle time.Duration // for a server to be responsive again after clients left

	// OnCase, when not nil, is told which case begins.
	OnCase func(done, total int, id string)
}

const (
	defaultCaseTimeout = 30 * time.Second
	defaultTimeout     = 10 * time.Minute

	// Uvicorn, under vLLM and many others, closes connections after 5 s without a
	// request: a hop that keeps its own longer meets dead ones just after.
	defaultIdle = 5200 * time.Millisecond
	// Load balancers cut after 30 s or 60 s: those are their usual defaults.
	defaultLong   = 65 * time.Second
	defaultLinger = 2 * time.Second
	defaultSettle = 5 * time.Second
)

func (o *Options) complete() {
	for _, d := range []struct {
		at       *time.Duration
		fallback time.Duration
	}{
		{&o.CaseTimeout, defaultCaseTimeout}, {&o.Timeout, defaultTimeout}, {&o.Idle, defaultIdle},
		{&o.Long, defaultLong}, {&o.Linger, defaultLinger}, {&o.Settle, defaultSettle},
	} {
		if *d.at == 0 {
			*d.at = d.fallback
		}
	}
	if o.Suite == "" {
		o.Suite = Engine
	}
}
