package config

import (
	"fmt"
	"net/netip"
)

// checkPicker checks the endpoint picker. It tells Envoy where to connect to, which
// must be an address: Envoy looks up no name for it.
func (c *Config) checkPicker(all *collection) error {
	p := c.Picker
	if p == (Picker{}) {
		return nil
	}
	if err := checkAddress("picker.listen", p.Listen); err != nil {
		return keyed("picker.listen", err)
	}
	for _, other := range []struct{ key, address string }{{"listen", c.Listen}, {"admin.listen", c.Admin.Listen}} {
		if collide(p.Listen, other.address) {
			return keyed("picker.listen", fmt.Errorf("picker.listen %q is the address of %s: give it another port", p.Listen, other.key))
		}
	}
	if err := p.TLS.check("picker.tls"); err != nil {
		return keyed("picker.tls", err)
	}
	if err := all.providers.check(p.Provider); err != nil {
		return keyed("picker.provider", fmt.Errorf("picker: %w", err))
	}
	for i := range c.Providers {
		if c.Providers[i].Name != p.Provider {
			continue
		}
		for j, address := range c.Providers[i].URLs() {
			u, err := ParseEndpoint(address)
			if err != nil {
				return at(fmt.Errorf("provider %q: endpoint %d: %w", p.Provider, j+1, err), append([]any{"providers", i}, c.Providers[i].wayTo(j)...)...)
			}
			if _, err := netip.ParseAddr(u.Hostname()); err != nil {
				return at(fmt.Errorf("picker: endpoint %d of provider %q: expected an IP address, for Envoy looks up no name, got %q", j+1, p.Provider, u.Hostname()), append([]any{"providers", i}, c.Providers[i].wayTo(j)...)...)
			}
		}
	}
	return nil
}
