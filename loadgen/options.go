package loadgen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/request"
	"github.com/llmctl/llmctl/loadgen/telemetry"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/reports/record"
)

// Options say what to send, to whom, for how long, and who wants to know.
// Zero values of limits stand for the defaults below.
type Options struct {
	// Client says to whom and how requests go. Its Now, OnFirst and OnOutput are
	// the run's own.
	Client client.Options
	Model  string // on the wire

	Workload *workload.Stream
	Prompts  request.Prompts // what is said

	// Exactly one of Duration and Requests bounds the measurement, which begins
	// when Warmup has passed. Requests counts those that belong to it.
	Duration time.Duration
	Requests int
	Warmup   time.Duration

	Drain       time.Duration // for what is in flight when sending ends; after it requests are cut
	MaxInFlight int           // an open loop drops what is due beyond it

	// IgnoreEOS asks the server for exactly the output length of the workload,
	// with ignore_eos and min_tokens, which vLLM and SGLang understand.
	IgnoreEOS bool
	// ContinuousUsage asks the server to count the tokens of each event, with
	// continuous_usage_stats, which vLLM and the bundled engine understand.
	ContinuousUsage bool

	MetricsURLs     []string       // metrics pages of the target; none looks for one at the endpoint
	MetricsInterval time.Duration  // between scrapes; negative scrapes nothing
	GPUs            telemetry.GPUs // of this machine, read through the run and then closed; nil reads none

	// Stop, when closed, ends sending; what is in flight may finish within
	// Drain. Ending the context of Run cuts it at once.
	Stop <-chan struct{}

	// OnRecord gets each record when its request has ended, one at a time. When
	// it is nil, the records are kept in the Result.
	OnRecord func(*record.Record)
	// OnLive gets the state of the run ten times a second, one at a time.
	OnLive func(record.Live)

	// wait returns at the time given, as exactly as the machine can, or earlier
	// when the context ends. Tests replace it.
	wait func(ctx context.Context, until time.Time)
}

// The defaults of limits.
const (
	DefaultDrain           = 30 * time.Second
	DefaultMaxInFlight     = 8192
	DefaultTotalTimeout    = 10 * time.Minute
	DefaultMetricsInterval = time.Second
)

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Workload == nil:
		return o, errors.New("no workload to send")
	case o.Duration < 0 || o.Requests < 0 || o.Warmup < 0 || o.Drain < 0 || o.MaxInFlight < 0:
		return o, errors.New("duration, requests, warm-up, drain and the cap of requests in flight must not be negative")
	case (o.Duration > 0) == (o.Requests > 0):
		return o, fmt.Errorf("duration %v and %d requests: expected exactly one of them to bound the run", o.Duration, o.Requests)
	}
	if o.Model == "" {
		return o, errors.New("no model to ask for")
	}
	orDefault(&o.Drain, DefaultDrain)
	orDefault(&o.MaxInFlight, DefaultMaxInFlight)
	orDefault(&o.Client.TotalTimeout, DefaultTotalTimeout)
	orDefault(&o.MetricsInterval, DefaultMetricsInterval)
	if o.wait == nil {
		o.wait = waitUntil
	}
	return o, nil
}

func orDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}
