package gateway

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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

// tpot is the time per output token after the first.
func (x *exchange) tpot() (time.Duration, bool) {
	n := x.spent.tokens().Output
	if x.first.IsZero() || n < 2 || !x.last.After(x.first) {
		return 0, false
	}
	return x.last.Sub(x.first) / time.Duration(n-1), true
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
	x.countGenAI(end)
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

// logLine writes one line. It holds names, numbers and reasons: no key, no
// content, and no text of a client or an upstream longer than maxCause.
func (x *exchange) logLine(end time.Time) {
	level := slog.LevelInfo
	if x.outcome().upstreamFault() || x.outcome() == outcomeInternal {
		level = slog.LevelWarn
	}
	ctx := context.WithoutCancel(x.r.Context())
	if !x.g.log.Enabled(ctx, level) {
		return
	}
	tenant, alias := x.labels()
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs,
		slog.String("request_id", x.id),
		slog.String("tenant", tenant),
		slog.String("alias", alias),
		slog.Int("status", x.status()),
		slog.String("outcome", string(x.outcome())),
		slog.Float64("e2e_s", end.Sub(x.began).Seconds()),
	)
	if x.try != nil {
		attrs = append(attrs,
			slog.String("deployment", x.try.target.name),
			slog.String("finish_reason", brief(x.finishReason, 32)),
		)
		if e := x.try.endpoint(); e != nil {
			attrs = append(attrs, slog.String("endpoint", e.Host))
		}
		if x.queued > 0 {
			attrs = append(attrs, slog.Float64("queue_s", x.queued.Seconds()))
		}
		attrs = append(attrs, x.tokenAttrs()...)
		if x.retries > 0 {
			attrs = append(attrs, slog.Int("retries", x.retries))
		}
	}
	if x.caching.result != "" {
		attrs = append(attrs, slog.String("cache", x.caching.result))
	}
	if x.caching.trouble != nil {
		attrs = append(attrs, slog.String("cache_error", brief(x.caching.trouble.Error(), maxCause)))
	}
	attrs = x.routeAttrs(attrs)
	if d, ok := x.ttft(); ok {
		attrs = append(attrs, slog.Float64("ttft_s", d.Seconds()))
	}
	if d, ok := x.tpot(); ok {
		attrs = append(attrs, slog.Float64("tpot_s", d.Seconds()))
	}
	if f := x.failure; f != nil && f.resource != "" {
		attrs = append(attrs, slog.String("limit", string(f.resource)))
	}
	if f := x.failure; f != nil && f.cause != nil {
		attrs = append(attrs, slog.String("cause", x.cause()))
	}
	x.g.log.LogAttrs(ctx, level, "request", attrs...)
}

// tokenAttrs are the counts that the tenant was charged, and their cost: none when
// it was charged nothing, no cached tokens where only an upstream could have told,
// no cost without a price.
func (x *exchange) tokenAttrs() []slog.Attr {
	if !x.chargeable() {
		return nil
	}
	used := x.used()
	attrs := []slog.Attr{slog.Int64("input_tokens", used.Input), slog.Int64("output_tokens", used.Output), slog.String("tokens_source", x.spent.source())}
	if cached, ok := used.Cached.Value(); ok {
		attrs = append(attrs, slog.Int("cached_tokens", cached))
	}
	if reasoning, ok := used.Reasoning.Value(); ok {
		attrs = append(attrs, slog.Int("reasoning_tokens", reasoning))
	}
	cost, _ := x.cost()
	if total, ok := cost.Total().Value(); ok {
		attrs = append(attrs, slog.Float64("cost_usd", total.USD()))
	}
	return attrs
}

// maxCause is the length at which the reason for a failure is cut: an error may
// quote what an upstream sent.
const maxCause = 200

func (x *exchange) cause() string {
	text := x.failure.cause.Error()
	if x.try != nil {
		text = string(x.try.target.provider.redact([]byte(text)))
	}
	return brief(text, maxCause)
}

// brief returns a text on one line and of at most n bytes, in whole characters.
func brief(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) <= n {
		return text
	}
	const ellipsis = "…"
	cut := n - len(ellipsis)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ellipsis
}
