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
	// when Warmup has passed. Requests counts those that belong to it. A workload
	// that ends by itself may be bounded by neither.
	Duration time.Duration
	Requests int
	Warmup   time.Duration

	Drain       time.Duration // for what is in flight when sending ends; after it requests are cut
	MaxInFlight int           // an open loop drops what is due beyond it

	// AbortFailures breaks a run off when more than this share (0..1) of the last
	// hundred requests failed; 0 is never.
	AbortFailures float64
	// AbortSaturated breaks an open loop off when requests in flight and TTFT both
	// grew steadily over this time; 0 is never.
	AbortSaturated time.Duration

	// Shard i of Shards, i from 0, is the part of the workload that this run
	// sends; the Workload must be made for the same. No Shards are one machine.
	Shard, Shards int
	// StartAt is the wall clock at which the run starts, so that shards start
	// together. The zero time is at once.
	StartAt time.Time

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
	// when the context ends or something comes from wake. Tests replace it.
	wait func(ctx context.Context, wake <-chan struct{}, until time.Time)
	// write builds the body of a job. Tests replace it.
	write func(r *runner, j *job, withUsage bool) []byte
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
	case o.Duration > 0 && o.Requests > 0, o.Duration == 0 && o.Requests == 0 && !finite(o.Workload):
		return o, fmt.Errorf("duration %v and %d requests: expected exactly one of them to bound the run", o.Duration, o.Requests)
	}
	if o.Model == "" {
		return o, errors.New("no model to ask for")
	}
	if n, closed := o.Workload.Closed(); closed && n < 1 {
		return o, fmt.Errorf("%d requests in flight: nothing is left to send", n)
	}
	if n, users := o.Workload.Users(); users && n < 1 {
		return o, fmt.Errorf("%d users: nothing is left to send", n)
	}
	if o.Shards > 0 && (o.Shard < 0 || o.Shard >= o.Shards) {
		return o, fmt.Errorf("shard %d of %d, expected one from 0 on", o.Shard, o.Shards)
	}
	orDefault(&o.Drain, DefaultDrain)
	orDefault(&o.MaxInFlight, DefaultMaxInFlight)
	orDefault(&o.Client.TotalTimeout, DefaultTotalTimeout)
	orDefault(&o.MetricsInterval, DefaultMetricsInterval)
	if o.wait == nil {
		o.wait = waitUntil
	}
	if o.write == nil {
		o.write = writeBody
	}
	return o, nil
}

// finite reports whether a workload ends by itself.
func finite(s *workload.Stream) bool {
	_, ends := s.Len()
	return ends
}

func orDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}
