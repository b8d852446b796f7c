package gateway

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/optional"
)

// logLine writes one line. It holds names, numbers and reasons: no key, no
// content, and no text of a client or an upstream longer than maxCause. Fields have
// the names of the usage record; those that do not apply are left out.
func (x *exchange) logLine(end time.Time) {
	level := slog.LevelInfo
	if x.outcome().grave() {
		level = slog.LevelWarn
	}
	ctx := context.WithoutCancel(x.r.Context())
	if !x.g.log.Enabled(ctx, level) {
		return
	}
	l := logLines.Get().(*line)
	defer l.letGo()
	x.logWho(l)
	l.attrs = append(l.attrs, slog.Int("status", x.status()), slog.String("outcome", string(x.outcome())))
	x.logWhere(l)
	x.logTokens(l)
	x.logTimes(l, end)
	x.logWhy(l)
	r := slog.NewRecord(time.Now(), level, "request", 0) // where in the program says nothing, and takes time to find out
	r.AddAttrs(l.attrs...)
	_ = x.g.log.Handler().Handle(ctx, r) // a log that cannot be written has nobody to tell
}

// line is a line of the log in the making.
type line struct{ attrs []slog.Attr }

var logLines = sync.Pool{New: func() any { return &line{make([]slog.Attr, 0, 48)} }}

func (l *line) letGo() {
	clear(l.attrs)
	l.attrs = l.attrs[:0]
	logLines.Put(l)
}

// text adds a text that is not empty.
func (l *line) text(name, value string) {
	if value != "" {
		l.attrs = append(l.attrs, slog.String(name, value))
	}
}

func (l *line) seconds(name string, d time.Duration) {
	l.attrs = append(l.attrs, slog.Float64(name, d.Seconds()))
}

// measured adds a time that is known.
func (l *line) measured(name string, d optional.Duration) {
	if v, ok := d.Value(); ok {
		l.seconds(name, v)
	}
}

func (l *line) count(name string, n int64) { l.attrs = append(l.attrs, slog.Int64(name, n)) }

// logWho says whose request it is, and for what. Tenant and alias are always there,
// and empty when they are not known.
func (x *exchange) logWho(l *line) {
	tenant, alias := x.labels()
	l.attrs = append(l.attrs, slog.String("request_id", x.id), slog.String("tenant", tenant))
	if x.who != nil {
		l.text("key", x.who.key)
	}
	l.attrs = append(l.attrs, slog.String("alias", alias))
	l.text("class", x.class)
	l.text("client", x.client())
	l.text("method", brief(x.r.Method, 16))
	l.text("path", x.path())
}

// client is the address at the other end of the connection, without its port: of the
// client, or of the proxy in front.
func (x *exchange) client() string {
	if host, _, err := net.SplitHostPort(x.r.RemoteAddr); err == nil {
		return host
	}
	return brief(x.r.RemoteAddr, 64)
}

// maxPath is the length at which a path is cut that a client made up.
const maxPath = 128

// path is the route that the request took, or what was asked for where there is none.
// Some put a key there.
func (x *exchange) path() string {
	if x.dialect != nil {
		return x.dialect.path
	}
	if route := x.r.Pattern[strings.IndexByte(x.r.Pattern, ' ')+1:]; len(route) > len("/") {
		return route
	}
	parts := strings.Split(x.r.URL.EscapedPath(), "/")
	for i, part := range parts {
		if _, key := x.table.principals[config.DigestOf(part)]; key {
			parts[i] = redacted
		}
	}
	return brief(x.redact(strings.Join(parts, "/")), maxPath)
}

// logWhere says who answered, or was tried last, after how many tries.
func (x *exchange) logWhere(l *line) {
	if t := x.answeredBy(); t != nil {
		l.text("deployment", t.name)
		l.text("arm", t.arm())
	}
	if x.try == nil {
		return
	}
	l.text("finish_reason", brief(x.finishReason, 32))
	if e := x.try.endpoint(); e != nil {
		l.text("endpoint", e.Host)
	}
	l.count("attempts", int64(x.account.tries))
	if n := x.retries(); n > 0 {
		l.count("retries", int64(n))
	}
}

// logTokens are the counts that the tenant was charged, and their cost: none when
// it was charged nothing, no cached tokens where only an upstream could have told,
// no cost without a price. An answer that was given before has the cost alone.
func (x *exchange) logTokens(l *line) {
	if x.chargeable() {
		used := x.used()
		l.count("input_tokens", used.Input)
		l.count("output_tokens", used.Output)
		l.text("tokens_source", x.spent.source())
		if cached, ok := used.Cached.Value(); ok {
			l.count("cached_input_tokens", int64(cached))
		}
		if reasoning, ok := used.Reasoning.Value(); ok {
			l.count("reasoning_tokens", int64(reasoning))
		}
	} else if x.account.again == nil {
		return
	}
	cost, saved := x.cost()
	if total, ok := cost.Total().Value(); ok {
		l.attrs = append(l.attrs, slog.Float64("usd", total.USD()))
	}
	l.text("saved_by", string(saved.By))
	if usd, ok := saved.Cost.Value(); ok && saved.By != "" {
		l.attrs = append(l.attrs, slog.Float64("saved_usd", usd.USD()))
	}
}

func (x *exchange) logTimes(l *line, end time.Time) {
	if d, ok := x.ttft(); ok {
		l.seconds("ttft_s", d)
	}
	if d, ok := x.tpot(); ok {
		l.seconds("tpot_s", d)
	}
	l.seconds("e2e_s", end.Sub(x.began))
	l.measured("queue_s", x.waited())
	l.measured("engine_queue_s", x.spent.engineQueue)
}

// logWhy says why the request took its way, and why it ended as it did.
func (x *exchange) logWhy(l *line) {
	l.text("cache", x.caching.result)
	if x.caching.trouble != nil {
		l.text("cache_error", brief(x.caching.trouble.Error(), maxCause))
	}
	l.attrs = x.routeAttrs(l.attrs)
	if f := x.failure; f != nil {
		l.text("limit", string(f.resource))
		l.text("cause", x.cause())
	}
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
