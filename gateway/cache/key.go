package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
)

// Key names one answer, or one space of questions.
type Key [sha256.Size]byte

// MaxBody is the largest request that is looked up, in bytes. Above it, making
// the key costs more than repeats of such requests are likely to save.
const MaxBody = 1 << 20

// Scope is where a request belongs: two requests share an answer only when all
// of it is equal.
type Scope struct {
	Tenant  string
	Alias   string
	Version string   // of the configuration behind the alias; see VersionOf
	Path    string   // of the API
	Steer   []string // whatever else the answering deployment was chosen by
}

// VersionOf names a configuration: what is equal has the same version, on every
// gateway and after a restart. The values must have a JSON form.
func VersionOf(parts ...any) (string, error) {
	h := sha256.New()
	for _, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			return "", fmt.Errorf("naming a configuration: %w", err)
		}
		h.Write(binary.AppendUvarint(nil, uint64(len(text)))) // a hash never fails
		h.Write(text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16]), nil
}

// unrelated are the top-level fields that cannot change an answer: who asks, how
// it is delivered, and how urgent it is. Everything else is part of the key,
// known or not. cache_salt is part of it: clients use it to keep their own users
// apart.
var unrelated = []string{
	"user", "safety_identifier", "stream", "stream_options", "metadata", "prompt_cache_key", "prompt_cache_retention", "priority",
}

func isUnrelated(key []byte) bool {
	return slices.ContainsFunc(unrelated, func(name string) bool { return string(key) == name })
}

// Exact is the key of a request by its whole body; ok is false when the body is
// too large or not fit for a canonical form.
func (s Scope) Exact(body []byte) (key Key, ok bool) {
	if len(body) > MaxBody {
		return key, false
	}
	out := s.appendTo(make([]byte, 0, len(body)+256), "exact")
	out, ok = Canonical(out, body, isUnrelated)
	if !ok {
		return key, false
	}
	return sha256.Sum256(out), true
}

// appendTo appends the scope in a form in which no two scopes are equal.
func (s Scope) appendTo(dst []byte, purpose string) []byte {
	for _, part := range append([]string{purpose, s.Tenant, s.Alias, s.Version, s.Path}, s.Steer...) {
		dst = binary.AppendUvarint(dst, uint64(len(part)))
		dst = append(dst, part...)
	}
	return append(dst, 0xFF)
}
