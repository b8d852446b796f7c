package gateway

import (
	"strconv"
	"time"

	"github.com/llmctl/llmctl/internal/optional"
)

// observe writes the exchange's log line and metrics.
func (x *exchange) observe(end time.Time) {
	end = x.ended(end)
	x.count(end)
	x.logLine(end)
	x.endSpan(end)
}

// status is what the client saw, or 499 when it did not wait for it.
func (x *exchange) status() int {
	switch {
	case x.outcome() == outcomeClientGone:
		return statusClientGone
	case x.failure != nil && !x.committed:
		return x.failure.status
	}
	return 200
}

func (x *exchange) outcome() outcome {
	if x.failure == nil {
		return outcomeOK
	}
	return x.failure.outcome
}

// ttft is the time from the request's arrival to the first output. It is absent
// without any, and for answers that come as a whole.
func (x *exchange) ttft() (time.Duration, bool) {
	return x.first.Sub(x.began), !x.first.IsZero()
}

// ttfc is the time from sending the try to the first output, absent as ttft is.
func (x *exchange) ttfc() (time.Duration, bool) {
	return x.first.Sub(x.try.placed), !x.first.IsZero()
}

// tpot is the time per output token after the first.
func (x *exchange) tpot() (time.Duration, bool) {
	n := x.spent.tokens().Output
	if x.first.IsZero() || n < 2 || !x.last.After(x.first) {
		return 0, false
	}
	return x.last.Sub(x.first) / time.Duration(n-1), true
}

// waited is how long the request waited here for an endpoint: absent when it never
// asked for one.
func (x *exchange) waited() (d optional.Duration) {
	if x.try != nil {
		d = optional.Measured(x.queued)
	}
	return d
}

func (x *exchange) labels() (tenant, alias string) {
	if x.who != nil {
		tenant = x.who.tenant.name
	}
	if x.model != nil {
		alias = x.model.alias
	}
	return tenant, alias
}

func (x *exchange) count(end time.Time) {
	m := x.g.metrics
	tenant, alias := x.labels()
	m.requests.WithLabelValues(tenant, alias, strconv.Itoa(x.status()), string(x.outcome())).Inc()
	if f := x.failure; f != nil && f.resource != "" {
		m.rejections.WithLabelValues(tenant, string(f.resource)).Inc()
	}
	if x.try == nil {
		return
	}
	if o, e := x.outcome(), x.try.endpoint(); o.upstreamFault() && e != nil {
		m.upstream.WithLabelValues(x.try.target.provider.name, e.URL, string(o)).Inc()
	}
	x.countServed(end)
	x.countAttempt(x.outcome())
	x.countArm(end)
}

func (o outcome) upstreamFault() bool {
	switch o {
	case outcomeConnect, outcomeAuth, outcomeUpstream, outcomeInterrupted, outcomeStreamError, outcomeFirstToken, outcomeIdle:
		return true
	}
	return false
}
