package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

const hashPrefix = "sha256:"

// Digest is the SHA-256 of a bearer key.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a key.
func DigestOf(key string) Digest { return sha256.Sum256([]byte(key)) }

// HashKey returns a key in the form that a configuration holds: sha256: and the
// hexadecimal SHA-256 of its bytes. Keys are random and long, so a slow hash
// would add nothing but latency.
func HashKey(key string) string {
	d := DigestOf(key)
	return hashPrefix + hex.EncodeToString(d[:])
}

// Label is what the key is called in logs and usage: its name, or key-N for the
// one at index N-1 of its tenant.
func (k *Key) Label(index int) string {
	if k.Name != "" {
		return k.Name
	}
	return fmt.Sprintf("key-%d", index+1)
}

// Digest is the key's own, whether the configuration holds its hash or names
// its variable.
func (k *Key) Digest(env Environment) (Digest, error) {
	if k.Hash != "" {
		return parseHash(k.Hash)
	}
	return DigestOf(env[k.KeyEnv]), nil
}
