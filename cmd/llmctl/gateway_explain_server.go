package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/gateway/config"
	ledger "github.com/llmctl/llmctl/gateway/usage"
)

// explainGateway is what the gateway is to everybody: where it listens, where it
// keeps things, how much it takes.
func explainGateway(c *config.Config, usage string) block {
	b := block{title: "gateway"}
	b.row("API", "%s", listensAt(c.Listen, "http", c.TLS))
	b.row("admin", "%s", explainAdmin(c.Admin))
	if p := c.Picker; p.Listen != "" {
		b.row("picker", "%s, of %s", listensAt(p.Listen, "grpc", p.TLS), p.Provider)
	}
	b.row("limits", "%s", explainLimitsStore(c.Store))
	kept := ", single requests for " + lastingOr(c.Store.UsageKeep, ledger.DefaultKeep)
	if usage == config.StoreNone {
		kept = ""
	}
	b.row("usage", "%s%s%s", place(usage), secret(c.Store.UsageKeyEnv), kept)
	b.row("traces", "to %s, %s of requests", cmp.Or(place(c.Traces.Endpoint), "where OTEL_EXPORTER_OTLP_ENDPOINT says, if anywhere"), percent(valueOr(c.Traces.Sample, 1)))
	b.row("bodies", "up to %s, answers up to %s", binarySize(cmp.Or(c.MaxBody, config.DefaultMaxBody)), binarySize(cmp.Or(c.MaxAnswer, config.DefaultMaxAnswer)))
	b.row("caches", "%s of answers in all", binarySize(cmp.Or(c.CacheSize, config.DefaultCacheSize)))
	b.row("idempotency", "keys for %s", lastingOr(c.Idempotency.TTL, config.DefaultIdempotency))
	silence := "never a comment"
	if c.SSEKeepAlive > 0 {
		silence = "a comment after " + lastingOr(c.SSEKeepAlive, 0)
	}
	b.row("silent streams", "%s", silence)
	origins := make([]string, len(c.Origins))
	for i, o := range c.Origins {
		origins[i] = string(o)
	}
	b.row("pages", "from %s", cmp.Or(strings.Join(origins, " "), "the gateway's own host"))
	b.row("segments", "%s", explainSegments(c.Segments))
	return b
}

// listensAt is an address with what guards it.
func listensAt(address, scheme string, t config.TLS) string {
	if t.Cert == "" {
		return scheme + "://" + address
	}
	text := fmt.Sprintf("%ss://%s, certificate %s", scheme, address, t.Cert)
	if t.ClientCA != "" {
		text += ", clients' of " + t.ClientCA
	}
	return text
}

func explainAdmin(a config.Admin) string {
	switch {
	case a.Listen == "":
		return "none"
	case a.TokenEnv != "":
		return listensAt(a.Listen, "http", a.TLS) + ", token in " + a.TokenEnv
	}
	return listensAt(a.Listen, "http", a.TLS) + ", no token"
}

func explainLimitsStore(s config.Store) string {
	if s.Limits == "" || s.Limits == config.StoreMemory {
		return "memory"
	}
	return fmt.Sprintf("%s%s, waits %s; when down: %s", place(s.Limits), secret(s.LimitsKeyEnv),
		lastingOr(s.Timeout, config.DefaultStoreTimeout), cmp.Or(s.WhenDown, config.WhenDownRefuse))
}

// place is where state is kept, without what a URL may carry behind the name.
func place(store string) string {
	name, _, _ := strings.Cut(store, "?")
	return name
}

func secret(variable string) string {
	if variable == "" {
		return ""
	}
	return ", password in " + variable
}

func explainSegments(s config.Segments) string {
	switch {
	case !config.On(s.Enabled):
		return "no report"
	case s.Excerpt > 0:
		return fmt.Sprintf("report with excerpts of %d bytes", s.Excerpt)
	}
	return "report without excerpts"
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func explainClasses(c *config.Config) block {
	b := block{title: "classes"}
	for _, class := range c.AllClasses() {
		says := remarks{fmt.Sprintf("priority %d", class.Priority)}
		says.add(class.MaxQueue > 0, "at most %d wait at a provider", class.MaxQueue)
		says.add(class.QueueTimeout > 0, "for up to %s", lastingOr(class.QueueTimeout, 0))
		b.row(class.Name, "%s", says.or(""))
	}
	return b
}

func explainFlags(c *config.Config) []block {
	b := block{title: "flags"}
	for _, f := range c.Flags {
		text := fmt.Sprintf("%s %% of requests", number(f.Percent))
		if f.Tenants != nil {
			text += ", all of " + listed(f.Tenants)
		}
		b.row(f.Name, "%s", text)
	}
	return unlessEmpty(b)
}

// explainFilters does not show what filters look for, which may be long, or nobody's
// business.
func explainFilters(c *config.Config) []block {
	b := block{title: "filters"}
	for _, f := range c.Filters {
		what := f.Kind
		if f.Kind == config.FilterKeyword {
			what += fmt.Sprintf(", %s", several(len(f.Words), "word"))
		}
		b.row(f.Name, "%s, on %s", what, cmp.Or(f.On, config.OnInput))
	}
	return unlessEmpty(b)
}

func unlessEmpty(b block) []block {
	if len(b.rows) == 0 {
		return nil
	}
	return []block{b}
}

func explainTenants(c *config.Config) (blocks []block) {
	for _, t := range c.Tenants {
		b := block{title: "tenant " + t.Name}
		b.row("limits", "%s", bounds(t.Limits))
		b.row("models", "%s", listed(t.Models))
		classes := listed(t.Classes)
		if t.Priority != "" {
			classes += ", else " + t.Priority
		}
		b.row("classes", "%s", classes)
		if t.Weight > 0 {
			b.row("weight", "%d", t.Weight)
		}
		for i, k := range t.Keys {
			var says remarks
			says.add(k.KeyEnv != "", "in %s", k.KeyEnv)
			says.add(k.Hash != "", "by its hash")
			says.add(k.Limits != config.Limits{}, "%s", bounds(k.Limits))
			says.add(k.Models != nil, "models %s", listed(k.Models))
			says.add(k.Classes != nil, "classes %s", listed(k.Classes))
			b.row("key "+k.Label(i), "%s", says.or(""))
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func bounds(l config.Limits) string {
	var says remarks
	says.add(l.RPM > 0, "%d requests/min", l.RPM)
	says.add(l.InputTPM > 0, "%d input tokens/min", l.InputTPM)
	says.add(l.OutputTPM > 0, "%d output tokens/min", l.OutputTPM)
	says.add(l.Concurrent > 0, "%d at once", l.Concurrent)
	says.add(l.USDPerDay > 0, "$%s/day", number(float64(l.USDPerDay)))
	says.add(l.USDPerMonth > 0, "$%s/month", number(float64(l.USDPerMonth)))
	return says.or("none")
}
