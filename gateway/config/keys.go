package config

import (
	"crypto/sha256"
	"encoding/hex"
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

// Digest is the key's own, whether the configuration holds its hash or names
// its variable.
func (k *Key) Digest(env Environment) (Digest, error) {
	if k.Hash != "" {
		return parseHash(k.Hash)
	}
	return DigestOf(env[k.KeyEnv]), nil
}
