package main

import (
	"fmt"

	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/gateway/certs"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/iostreams"
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
	usage, err := usageStore(c, s.Env)
	if err != nil {
		return err
	}
	return explain(s.Out, c, usage)
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
