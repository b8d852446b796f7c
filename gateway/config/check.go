package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/llmctl/llmctl/profiles"
)

// Validate checks what the shape of the file does not say: references, ranges,
// names that appear twice.
func (c *Config) Validate() error {
	if err := checkAddress("listen", c.Listen); err != nil {
		return err
	}
	if c.Admin.Listen != "" {
		if err := checkAddress("admin.listen", c.Admin.Listen); err != nil {
			return err
		}
	} else if c.Admin.TokenEnv != "" {
		return errors.New("admin.token_env without admin.listen guards nothing")
	}
	if err := checkVariable("admin.token_env", c.Admin.TokenEnv); err != nil {
		return err
	}
	if c.Store.Limits != "" && c.Store.Limits != "memory" {
		return fmt.Errorf("store.limits: expected memory, got %q", c.Store.Limits)
	}
	if err := c.Segments.check(); err != nil {
		return err
	}
	providers, err := c.checkProviders()
	if err != nil {
		return err
	}
	aliases, err := c.checkModels(providers)
	if err != nil {
		return err
	}
	if err := c.checkPicker(); err != nil {
		return err
	}
	return c.checkTenants(aliases)
}

func checkAddress(key, address string) error {
	if address == "" {
		return fmt.Errorf("%s is missing, expected an address like 127.0.0.1:8080", key)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%s: expected an address like 127.0.0.1:8080, got %q", key, address)
	}
	return nil
}

func (c *Config) checkProviders() ([]string, error) {
	if len(c.Providers) == 0 {
		return nil, errors.New("providers is empty, expected at least one")
	}
	var known []string
	for i, p := range c.Providers {
		if err := checkName("providers", "name", i, p.Name, known); err != nil {
			return nil, err
		}
		known = append(known, p.Name)
		if p.Kind != "" && p.Kind != "openai" {
			return nil, fmt.Errorf("provider %q: unknown kind %q, known: openai", p.Name, p.Kind)
		}
		if err := checkVariable("key_env", p.KeyEnv); err != nil {
			return nil, fmt.Errorf("provider %q: %w", p.Name, err)
		}
		if len(p.URLs()) == 0 {
			return nil, fmt.Errorf("provider %q has no endpoints", p.Name)
		}
		seen := map[string]bool{}
		for j, e := range p.URLs() {
			u, err := ParseEndpoint(e)
			if err == nil && seen[u.String()] {
				err = errors.New("appears twice")
			}
			if err != nil {
				return nil, fmt.Errorf("provider %q: endpoint %d: %w", p.Name, j+1, err)
			}
			seen[u.String()] = true
		}
	}
	return known, nil
}

// ParseEndpoint reads a base URL, with or without /v1. Errors do not quote it,
// since it could carry a password.
func ParseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("expected a URL like http://10.0.0.5:8000")
	}
	if u.User != nil {
		return nil, errors.New("credentials in a URL end up in logs, use key_env")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("expected a base URL without query or fragment")
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	u.RawPath = ""
	return u, nil
}

func (c *Config) checkModels(providers []string) ([]string, error) {
	if len(c.Models) == 0 {
		return nil, errors.New("models is empty, expected at least one")
	}
	var known []string
	for i, m := range c.Models {
		if err := checkName("models", "alias", i, m.Alias, known); err != nil {
			return nil, err
		}
		known = append(known, m.Alias)
		if limit := m.MaxTokens; limit.Cap > 0 && limit.Default > limit.Cap {
			return nil, fmt.Errorf("model %q: max_tokens.default %d is above cap %d", m.Alias, limit.Default, limit.Cap)
		}
		if err := m.checkTargets(providers); err != nil {
			return nil, fmt.Errorf("model %q: %w", m.Alias, err)
		}
	}
	return known, nil
}

func (m *Model) checkTargets(providers []string) error {
	sum := 0
	for i, t := range m.Targets {
		if err := checkReference("provider", t.Provider, providers); err != nil {
			return err
		}
		if t.Model == "" {
			return fmt.Errorf("target %d has no model", i+1)
		}
		if w := t.Share(); w < 0 || w > 1_000_000 {
			return fmt.Errorf("target %d: weight %d is out of range 0 to 1000000", i+1, w)
		}
		if err := t.checkFactor(); err != nil {
			return fmt.Errorf("target %d: %w", i+1, err)
		}
		sum += t.Share()
	}
	for i, t := range m.Fallback {
		if err := t.checkFactor(); err != nil {
			return fmt.Errorf("fallback %d: %w", i+1, err)
		}
	}
	if sum == 0 {
		return errors.New("no target with a weight above zero")
	}
	return nil
}

func (c *Config) checkTenants(aliases []string) error {
	if len(c.Tenants) == 0 {
		return errors.New("tenants is empty, expected at least one with a key")
	}
	var known []string
	owners := map[Digest]string{}
	for i, t := range c.Tenants {
		if err := checkName("tenants", "name", i, t.Name, known); err != nil {
			return err
		}
		known = append(known, t.Name)
		if t.Models != nil && len(t.Models) == 0 {
			return fmt.Errorf("tenant %q: models is empty: list some, or leave it out to allow all", t.Name)
		}
		for _, alias := range t.Models {
			if err := checkReference("model", alias, aliases); err != nil {
				return fmt.Errorf("tenant %q: %w", t.Name, err)
			}
		}
		if len(t.Keys) == 0 {
			return fmt.Errorf("tenant %q has no keys", t.Name)
		}
		for j, k := range t.Keys {
			if err := k.check(t.Name, owners); err != nil {
				return fmt.Errorf("tenant %q: key %d: %w", t.Name, j+1, err)
			}
		}
	}
	return nil
}

func (k *Key) check(tenant string, owners map[Digest]string) error {
	if (k.Hash == "") == (k.KeyEnv == "") {
		return errors.New("expected either hash or key_env")
	}
	if k.Hash == "" {
		return checkVariable("key_env", k.KeyEnv)
	}
	d, err := parseHash(k.Hash)
	if err != nil {
		return err
	}
	if owner, ok := owners[d]; ok {
		return fmt.Errorf("the same key belongs to tenant %q already", owner)
	}
	owners[d] = tenant
	return nil
}

// parseHash reads what HashKey wrote. The error does not quote it: it may be a
// key that was pasted where its hash belongs.
func parseHash(s string) (Digest, error) {
	var d Digest
	text, ok := strings.CutPrefix(s, hashPrefix)
	if !ok || len(text) != hex.EncodedLen(len(d)) {
		return d, errors.New("hash: expected sha256: and 64 hexadecimal digits")
	}
	if _, err := hex.Decode(d[:], []byte(text)); err != nil {
		return d, errors.New("hash: expected sha256: and 64 hexadecimal digits")
	}
	return d, nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkVariable refuses what cannot be the name of an environment variable,
// without quoting it: people put the key itself there.
func checkVariable(key, name string) error {
	if name != "" && !variableName.MatchString(name) {
		return fmt.Errorf("%s: expected the name of an environment variable", key)
	}
	return nil
}

// checkName refuses names that are missing, taken, or unfit for a log line and
// a metric label.
func checkName(list, key string, i int, name string, taken []string) error {
	if name == "" {
		return fmt.Errorf("%s entry %d has no %s", list, i+1, key)
	}
	if len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return fmt.Errorf("%s entry %d: %s must be up to 128 printable characters without spaces", list, i+1, key)
	}
	for _, t := range taken {
		if t == name {
			return fmt.Errorf("%s: %s %q appears twice", list, key, name)
		}
	}
	return nil
}

func checkReference(kind, name string, known []string) error {
	for _, k := range known {
		if k == name {
			return nil
		}
	}
	if near := profiles.DidYouMean(name, known); near != "" {
		return fmt.Errorf("unknown %s %q%s", kind, name, near)
	}
	return fmt.Errorf("unknown %s %q, known: %s", kind, name, strings.Join(known, ", "))
}
