package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/llmctl/llmctl/gateway/limit"
)

const hashPrefix = "sha256:"

// digest is the SHA-256 of a bearer key.
type digest [sha256.Size]byte

func digestOf(key string) digest { return sha256.Sum256([]byte(key)) }

// HashKey returns a key in the form that a configuration holds: sha256: and the
// hexadecimal SHA-256 of its bytes. Keys are random and long, so a slow hash
// would add nothing but latency.
func HashKey(key string) string {
	d := digestOf(key)
	return hashPrefix + hex.EncodeToString(d[:])
}

// principal is who a bearer key belongs to.
type principal struct {
	digest digest
	tenant *tenant
	scopes []*limit.Scope // the tenant's and the key's
}

// tenant is what requests need to know of a configured tenant.
type tenant struct {
	name   string
	salt   string          // its cache_salt
	models map[string]bool // aliases it may use; nil means all
}

func (t *tenant) allows(alias string) bool { return t.models == nil || t.models[alias] }

// newPrincipals builds the table of keys.
func newPrincipals(c *Config, l *limit.Limiter, env environment) (map[digest]*principal, error) {
	table := map[digest]*principal{}
	for _, t := range c.Tenants {
		owner := &tenant{name: t.Name, salt: tenantSalt(t.Name)}
		if len(t.Models) > 0 {
			owner.models = map[string]bool{}
			for _, alias := range t.Models {
				owner.models[alias] = true
			}
		}
		whole := l.NewScope(fmt.Sprintf("tenant %q", t.Name), t.Limits.policy())
		for i, k := range t.Keys {
			d, err := k.digest(env)
			if err != nil {
				return nil, fmt.Errorf("tenant %q: key %d: %w", t.Name, i+1, err)
			}
			if other, ok := table[d]; ok {
				return nil, fmt.Errorf("tenant %q: key %d: the same key belongs to tenant %q already", t.Name, i+1, other.tenant.name)
			}
			own := l.NewScope(fmt.Sprintf("key %d of tenant %q", i+1, t.Name), k.Limits.policy())
			table[d] = &principal{digest: d, tenant: owner, scopes: []*limit.Scope{whole, own}}
		}
	}
	return table, nil
}

func (l Limits) policy() limit.Limits {
	return limit.Limits{
		RPM: int64(l.RPM), InputTPM: int64(l.InputTPM), OutputTPM: int64(l.OutputTPM), Concurrent: int64(l.Concurrent),
	}
}

func (k *Key) digest(env environment) (digest, error) {
	if k.Hash != "" {
		return parseHash(k.Hash)
	}
	return digestOf(env[k.KeyEnv]), nil
}

// authenticate finds the owner of the request's key. The table is keyed by the
// SHA-256 of the key, so what a lookup's duration could reveal is a hash that
// nobody can invert or steer; the last comparison takes constant time.
func authenticate(table map[digest]*principal, header http.Header) *principal {
	key, err := bearer(header)
	if err != nil {
		return nil
	}
	d := digestOf(key)
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
