package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/gateway/certs"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
)

// runCheck says what a configuration means, without starting or opening anything.
// Warnings go where they do not get between the tables.
func (f *gatewayFlags) runCheck(s *iostreams.IO, c *config.Config, lookup func(string) (string, bool)) error {
	if err := gateway.Verify(c, lookup); err != nil {
		return usagef("%s: %w", f.path, err)
	}
	for _, of := range []struct {
		key   string
		files config.TLS
	}{{"tls", c.TLS}, {"admin.tls", c.Admin.TLS}, {"picker.tls", c.Picker.TLS}} {
		if of.files.Cert == "" {
			continue
		}
		if _, err := certs.Load(of.files, nil); err != nil {
			return usagef("%s: %s: %w", f.path, of.key, err)
		}
	}
	for _, text := range c.Warnings() {
		fmt.Fprintf(s.Err, "warning: %s\n", record.Printable(text))
	}
	fmt.Fprintf(s.Out, "%s is fine: %s, %s, %s\n", f.path,
		several(len(c.Tenants), "tenant"), several(len(c.Models), "model"), several(len(c.Providers), "provider"))
	return explain(s.Out, c)
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// explain writes a configuration as the gateway understood it, defaults filled in.
func explain(to io.Writer, c *config.Config) error {
	for _, t := range []reports.Table{addressTable(c), tenantTable(c), modelTable(c), providerTable(c)} {
		t.Indent = 2
		if _, err := fmt.Fprintln(to); err != nil {
			return err
		}
		if _, err := t.Printable().WriteTo(to); err != nil {
			return err
		}
	}
	return nil
}

func addressTable(c *config.Config) reports.Table {
	guard := "no token"
	switch {
	case c.Admin.TokenEnv != "":
		guard = "token in " + c.Admin.TokenEnv
	case c.Admin.TLS.ClientCA != "":
		guard = "clients' certificates"
	}
	admin := "none"
	if c.Admin.Listen != "" {
		admin = fmt.Sprintf("%s%s, %s", scheme(c.Admin.TLS), c.Admin.Listen, guard)
	}
	rows := [][]string{{"API", scheme(c.TLS) + c.Listen}, {"admin", admin}}
	if p := c.Picker; p.Listen != "" {
		rows = append(rows, []string{"picker", fmt.Sprintf("grpc://%s, of %s", p.Listen, p.Provider)})
	}
	return reports.Table{Header: []string{"what", "where"}, Rows: append(rows, [][]string{
		{"limits", place(cmp.Or(c.Store.Limits, config.StoreMemory))},
		{"usage", place(cmp.Or(c.Store.Usage, "sqlite in the user's state folder"))},
	}...)}
}

func scheme(t config.TLS) string {
	if t.Cert != "" {
		return "https://"
	}
	return "http://"
}

// place is where state is kept, without what a URL may carry behind the name.
func place(store string) string {
	name, _, _ := strings.Cut(store, "?")
	return name
}

func tenantTable(c *config.Config) reports.Table {
	t := reports.Table{Header: []string{"tenant", "key", "limits", "models", "classes"}}
	for _, tenant := range c.Tenants {
		classes := listed(tenant.Classes)
		if tenant.Priority != "" {
			classes += ", else " + tenant.Priority
		}
		t.Rows = append(t.Rows, []string{tenant.Name, "", bounds(tenant.Limits), listed(tenant.Models), classes})
		for i, k := range tenant.Keys {
			t.Rows = append(t.Rows, []string{"", k.Label(i), bounds(k.Limits), narrowed(k.Models), narrowed(k.Classes)})
		}
	}
	return t
}

// listed is a list of which an absent one means all, narrowed one of which it means
// whatever the tenant has.
func listed(names []string) string {
	if names == nil {
		return "all"
	}
	return strings.Join(names, " ")
}

func narrowed(names []string) string { return cmp.Or(strings.Join(names, " "), "-") }

func bounds(l config.Limits) string {
	var parts []string
	for _, b := range []struct {
		value config.Count
		unit  string
	}{{l.RPM, " requests/min"}, {l.InputTPM, " input tokens/min"}, {l.OutputTPM, " output tokens/min"}, {l.Concurrent, " at once"}} {
		if b.value > 0 {
			parts = append(parts, fmt.Sprintf("%d%s", b.value, b.unit))
		}
	}
	for _, b := range []struct {
		value config.USD
		unit  string
	}{{l.USDPerDay, "day"}, {l.USDPerMonth, "month"}} {
		if b.value > 0 {
			parts = append(parts, "$"+strconv.FormatFloat(float64(b.value), 'f', -1, 64)+"/"+b.unit)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

func modelTable(c *config.Config) reports.Table {
	t := reports.Table{Header: []string{"model", "goes to", "share", "of"}}
	for _, m := range c.Models {
		sums := map[string]int{} // by flag, whose targets share the requests that have it
		for _, target := range m.Targets {
			sums[target.Flag] += target.Share()
		}
		alias := m.Alias
		for _, target := range m.Targets {
			share := fmt.Sprintf("%.3g %%", 100*float64(target.Share())/float64(max(1, sums[target.Flag])))
			t.Rows = append(t.Rows, []string{alias, target.Provider + "/" + target.Model, share, conditions(target)})
			alias = ""
		}
		for _, target := range m.Fallback {
			t.Rows = append(t.Rows, []string{"", target.Provider + "/" + target.Model, "fallback", conditions(target)})
		}
	}
	return t
}

// conditions are which requests a target takes.
func conditions(t config.Target) string {
	var parts []string
	if t.Flag != "" {
		parts = append(parts, "flag "+t.Flag)
	}
	if t.Classes != nil {
		parts = append(parts, "classes "+strings.Join(t.Classes, " "))
	}
	if t.Context > 0 {
		parts = append(parts, fmt.Sprintf("up to %d tokens", t.Context))
	}
	if t.Canary {
		parts = append(parts, "canary")
	}
	return cmp.Or(strings.Join(parts, ", "), "all requests")
}

func providerTable(c *config.Config) reports.Table {
	t := reports.Table{Header: []string{"provider", "kind", "endpoints", "picked by", "metrics"}}
	for _, p := range c.Providers {
		t.Rows = append(t.Rows, []string{p.Name, cmp.Or(p.Kind, config.KindOpenAI), strings.Join(p.URLs(), " "), p.Policy(), cmp.Or(p.Metrics, config.MetricsNone)})
	}
	return t
}
