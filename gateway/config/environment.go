package config

import (
	"fmt"
	"strings"
	"unicode"
)

// Environment holds the secrets that a configuration names, by variable.
type Environment map[string]string

// ReadEnvironment looks every variable up, and names all that are missing at
// once: whoever deploys a gateway should not learn of them one by one. It refuses a
// key that two tenants share, which only shows here.
func (c *Config) ReadEnvironment(lookup func(string) (string, bool)) (Environment, error) {
	found := Environment{}
	var missing []string
	for _, v := range c.variables() {
		if _, seen := found[v.name]; seen {
			continue
		}
		text, _ := lookup(v.name)
		found[v.name] = strings.TrimSpace(text)
		if found[v.name] == "" {
			missing = append(missing, fmt.Sprintf("%s (%s)", v.name, v.purpose))
		}
		if strings.ContainsFunc(found[v.name], unicode.IsControl) {
			return nil, fmt.Errorf("environment variable %s (%s) holds a line break or another control character, expected one key", v.name, v.purpose)
		}
	}
	switch len(missing) {
	case 0:
		if err := c.checkKeysDiffer(found); err != nil {
			return nil, err
		}
		return found, nil
	case 1:
		return nil, fmt.Errorf("environment variable %s is not set", missing[0])
	}
	return nil, fmt.Errorf("environment variables %s are not set", strings.Join(missing, ", "))
}

// variable is an environment variable that the configuration names.
type variable struct{ name, purpose string }

func (c *Config) variables() (all []variable) {
	add := func(name, format string, args ...any) {
		if name != "" {
			all = append(all, variable{name, fmt.Sprintf(format, args...)})
		}
	}
	add(c.Admin.TokenEnv, "admin.token_env")
	add(c.Store.LimitsKeyEnv, "store.limits_key_env")
	add(c.Store.UsageKeyEnv, "store.usage_key_env")
	for _, t := range c.Tenants {
		for i, k := range t.Keys {
			add(k.KeyEnv, "key %d of tenant %q", i+1, t.Name)
		}
	}
	for _, p := range c.Providers {
		add(p.KeyEnv, "provider %q", p.Name)
	}
	return all
}

func (c *Config) checkKeysDiffer(env Environment) error {
	owners := map[Digest]string{}
	for _, t := range c.Tenants {
		for i, k := range t.Keys {
			d, err := k.Digest(env)
			if owner, ok := owners[d]; err == nil && ok {
				err = fmt.Errorf("the same key belongs to tenant %q already", owner)
			}
			if err != nil {
				return fmt.Errorf("tenant %q: key %d: %w", t.Name, i+1, err)
			}
			owners[d] = t.Name
		}
	}
	return nil
}
