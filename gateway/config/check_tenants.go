package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

func (c *Config) checkTenants(all *collection) error {
	owners := map[Digest]string{}
	for i, t := range c.Tenants {
		if err := t.check(all, owners); err != nil {
			return at(fmt.Errorf("tenant %q: %w", t.Name, err), "tenants", i)
		}
	}
	return nil
}

func (t *Tenant) check(all *collection, owners map[Digest]string) error {
	if err := all.aliases.checkList("models", t.Models); err != nil {
		return err
	}
	if err := all.classes.checkList("classes", t.Classes); err != nil {
		return err
	}
	if t.Priority != "" {
		if err := all.classes.check(t.Priority); err != nil {
			return at(fmt.Errorf("priority: %w", err), "priority")
		}
		if t.Classes != nil && !slices.Contains(t.Classes, t.Priority) {
			return at(fmt.Errorf("priority %q is none of the tenant's classes", t.Priority), "priority")
		}
	}
	if len(t.Keys) == 0 {
		return errors.New("no keys, expected at least one")
	}
	taken := map[string]bool{}
	for i := range t.Keys {
		k := &t.Keys[i]
		err := k.check(t, all, owners)
		if name := k.Label(i); err == nil && taken[name] {
			err = fmt.Errorf("name %q appears twice", name)
		}
		if err != nil {
			return at(fmt.Errorf("key %d: %w", i+1, err), "keys", i)
		}
		taken[k.Label(i)] = true
	}
	return nil
}

func (k *Key) check(t *Tenant, all *collection, owners map[Digest]string) error {
	if err := checkName(k.Name); err != nil {
		return fmt.Errorf("name %w", err)
	}
	if err := all.aliases.checkList("models", k.Models); err != nil {
		return err
	}
	if err := all.classes.checkList("classes", k.Classes); err != nil {
		return err
	}
	if err := within("model", k.Models, t.Models); err != nil {
		return at(err, "models")
	}
	if err := within("class", k.Classes, t.Classes); err != nil {
		return at(err, "classes")
	}
	switch {
	case k.Hash == "" && k.KeyEnv == "":
		return errors.New("neither hash nor key_env: llmctl gateway key makes a key and its hash")
	case k.Hash != "" && k.KeyEnv != "":
		return errors.New("expected either hash or key_env, got both")
	}
	if k.Hash == "" {
		return checkVariable("key_env", k.KeyEnv)
	}
	d, err := parseHash(k.Hash)
	if err != nil {
		return at(err, "hash")
	}
	if owner, ok := owners[d]; ok {
		return fmt.Errorf("the same key belongs to tenant %q already", owner)
	}
	owners[d] = t.Name
	return nil
}

// within refuses what a key lists and its tenant may not use. Absent lists mean
// all.
func within(kind string, key, tenant []string) error {
	for _, name := range key {
		if tenant != nil && !slices.Contains(tenant, name) {
			return fmt.Errorf("%s %q is none of the tenant's own", kind, name)
		}
	}
	return nil
}

var errHash = errors.New("hash: expected sha256: and 64 hexadecimal digits, as llmctl gateway hash prints them for a key")

// parseHash reads what HashKey wrote. The error does not quote it: it may be a
// key that was pasted where its hash belongs.
func parseHash(s string) (Digest, error) {
	var d Digest
	if len(s) != len(hashPrefix)+hex.EncodedLen(len(d)) || s[:len(hashPrefix)] != hashPrefix {
		return d, errHash
	}
	if _, err := hex.Decode(d[:], []byte(s[len(hashPrefix):])); err != nil {
		return d, errHash
	}
	return d, nil
}
