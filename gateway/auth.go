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
	account store.Account // whose limits its requests count against
	classes classScope
}

// tenant is what requests need to know of a configured tenant.
type tenant struct {
	name   string
	salt   string          // its cache_salt
	models map[string]bool // aliases it may use; nil means all
	weight int             // its share among those that wait
}

func (t *tenant) allows(alias string) bool { return t.models == nil || t.models[alias] }

// newPrincipals builds the table of keys.
func newPrincipals(c *config.Config, env config.Environment) (map[config.Digest]*principal, error) {
	table, classes := map[config.Digest]*principal{}, classNames(c)
	for _, t := range c.Tenants {
		owner := &tenant{name: t.Name, salt: tenantSalt(t.Name), weight: t.Weight}
		if len(t.Models) > 0 {
			owner.models = map[string]bool{}
			for _, alias := range t.Models {
				owner.models[alias] = true
			}
		}
		for i, k := range t.Keys {
			d, err := k.Digest(env)
			if err != nil {
				return nil, fmt.Errorf("tenant %q: key %d: %w", t.Name, i+1, err)
			}
			if other, ok := table[d]; ok {
				return nil, fmt.Errorf("tenant %q: key %d: the same key belongs to tenant %q already", t.Name, i+1, other.tenant.name)
			}
			table[d] = &principal{digest: d, tenant: owner, key: k.Label(i), account: accountOf(&t, i), classes: newClassScope(classes, t, k)}
		}
	}
	return table, nil
}

// authenticate finds the owner of the request's key. The table is keyed by the
// SHA-256 of the key, so what a lookup's duration could reveal is a hash that
// nobody can invert or steer; the last comparison takes constant time.
func authenticate(table map[config.Digest]*principal, header http.Header) *principal {
	key, err := bearer(header)
	if err != nil {
		return nil
	}
	d := config.DigestOf(key)
	p, ok := table[d]
	if !ok || subtle.ConstantTimeCompare(p.digest[:], d[:]) != 1 {
		return nil
	}
	return p
}

// bearer returns the token of the one Authorization header.
func bearer(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return "", errors.New("expected one Authorization header")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errors.New("expected a bearer token")
	}
	return token, nil
}
