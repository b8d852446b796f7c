package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// checkPicker checks the endpoint picker. It tells Envoy where to connect to, which
// must be an address: Envoy looks up no name for it.
func (c *Config) checkPicker() error {
	p := c.Picker
	if p == (Picker{}) {
		return nil
	}
	if err := checkAddress("picker.listen", p.Listen); err != nil {
		return err
	}
	for _, other := range []string{c.Listen, c.Admin.Listen} {
		if p.Listen == other && !strings.HasSuffix(other, ":0") {
			return fmt.Errorf("picker.listen %q is taken by another listener: give it another port", p.Listen)
		}
	}
	var known []string
	for _, provider := range c.Providers {
		known = append(known, provider.Name)
	}
	i := slices.Index(known, p.Provider)
	switch {
	case p.Provider == "":
		return errors.New("picker.provider is missing: whose endpoints does it pick from?")
	case i < 0:
		hint := profiles.DidYouMean(p.Provider, known)
		if hint == "" {
			hint = ", known: " + strings.Join(known, ", ")
		}
		return fmt.Errorf("picker: unknown provider %q%s", p.Provider, hint)
	}
	for j, address := range c.Providers[i].URLs() {
		u, err := ParseEndpoint(address)
		if err != nil {
			return fmt.Errorf("provider %q: endpoint %d: %w", p.Provider, j+1, err)
		}
		if _, err := netip.ParseAddr(u.Hostname()); err != nil {
			return fmt.Errorf("picker: endpoint %d of provider %q: expected an IP address, for Envoy looks up no name, got %q", j+1, p.Provider, u.Hostname())
		}
	}
	if (p.TLS.Cert == "") != (p.TLS.Key == "") || p.TLS.ClientCA != "" && p.TLS.Cert == "" {
		return errors.New("picker.tls: cert and key belong together, and client_ca needs both")
	}
	return nil
}
