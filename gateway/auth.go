package gateway

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/store"
)

// principal is who a bearer key belongs to.
type principal struct {
	digest  config.Digest
	tenant  *tenant
	key     string        // the key's name, or key-N
	models  aliasScope    // of the key, within the tenant's
	account store.Account // whose limits its requests count against
	classes classScope
}

// tenant is what requests need to know of a configured tenant.
type tenant struct {
	name   string
	salt   string // its cache_salt
	models aliasScope
	weight int // its share among those that wait
}

// aliasScope is a set of aliases; nil is all of them.
type aliasScope map[string]bool

func newAliasScope(aliases []string) aliasScope {
	if len(aliases) == 0 {
		return nil
	}
	s := aliasScope{}
	for _, alias := range aliases {
		s[alias] = true
	}
	return s
}

func (s aliasScope) allows(alias string) bool { return s == nil || s[alias] }

// allows tells whether both the tenant and the key may use an alias.
func (p *principal) allows(alias string) bool {
	return p.tenant.models.allows(alias) && p.models.allows(alias)
}

// newPrincipals builds the table of keys.
func newPrincipals(c *config.Config, env config.Environment) (map[config.Digest]*principal, error) {
	table, classes := map[config.Digest]*principal{}, classNames(c)
	for _, t := range c.Tenants {
		owner := &tenant{name: t.Name, salt: tenantSalt(t.Name), models: newAliasScope(t.Models), weight: t.Weight}
		for i, k := range t.Keys {
			d, err := k.Digest(env)
			if err != nil {
				return nil, fmt.Errorf("tenant %q: key %d: %w", t.Name, i+1, err)
			}
			if other, ok := table[d]; ok {
				return nil, fmt.Errorf("tenant %q: key %d: the same key belongs to tenant %q already", t.Name, i+1, other.tenant.name)
			}
			table[d] = &principal{
				digest: d, tenant: owner, key: k.Label(i),
				models: newAliasScope(k.Models), account: accountOf(&t, i), classes: newClassScope(classes, t, k),
			}
		}
	}
	return table, nil
}

// authenticate finds the owner of the request's key. The table is keyed by the
// SHA-256 of the key, so what a lookup's duration could reveal is a hash that
// nobody can invert or steer; the last comparison takes constant time.
func authenticate(table map[config.Digest]*principal, header http.Header) (*principal, error) {
	key, err := bearer(header)
	if err != nil {
		return nil, err
	}
	d := config.DigestOf(key)
	p, ok := table[d]
	if !ok || subtle.ConstantTimeCompare(p.digest[:], d[:]) != 1 {
		return nil, errors.New("no tenant has this key")
	}
	return p, nil
}

// bearer returns the token of the one Authorization header.
func bearer(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return "", fmt.Errorf("expected one Authorization header, got %d", len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errors.New("expected Bearer and a key in the Authorization header")
	}
	return token, nil
}
