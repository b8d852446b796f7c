package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/llmctl/llmctl/gateway/cache"
)

// ID is a client's key within its tenant. It holds a hash, since keys may be made
// of anything, and nobody else needs to read them.
type ID struct {
	Tenant string
	sum    [sha256.Size]byte
}

// maxKey is the longest key, as for other APIs with such keys.
const maxKey = 255

// NewID checks a client's key. Errors are for the client, and do not quote it.
func NewID(tenant, key string) (ID, error) {
	if key == "" || len(key) > maxKey {
		return ID{}, fmt.Errorf("Idempotency-Key: expected 1 to %d characters, got %d", maxKey, len(key))
	}
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return ID{}, fmt.Errorf("Idempotency-Key: expected printable ASCII characters")
		}
	}
	return ID{tenant, sha256.Sum256([]byte(key))}, nil
}

// Fingerprint tells requests apart.
type Fingerprint [sha256.Size]byte

// FingerprintOf is that of a request with a JSON body. Spaces, escapes and the order of
// an object's keys do not count, since clients that send a request again may encode
// it anew; all else does, halves of surrogate pairs and keys that come twice among it,
// which Go's own reader would make equal. What has no such form counts byte for byte.
func FingerprintOf(method, path string, body []byte) Fingerprint {
	form, ok := cache.Canonical([]byte{'j'}, body, nil)
	if !ok {
		form = append([]byte{'b'}, body...)
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(method), []byte(path), form} {
		h.Write(append(binary.AppendUvarint(nil, uint64(len(part))), part...)) // a hash never fails
	}
	return Fingerprint(h.Sum(nil))
}
