package idempotency

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
)

func TestAKeyStandsForOneRequest(t *testing.T) {
	both(t, func(t *testing.T, k kind) {
		id := idOf(t, "a", "order-1")
		c := claim(t, k, id, first)
		refused(t, k, id, first, ErrInProgress)
		refused(t, k, id, second, ErrConflict)
		claim(t, k, idOf(t, "b", "order-1"), second).Release() // another tenant's is another key
		c.Keep(answer, time.Hour)
		c.Release() // changes nothing any more
		for range 2 {
			got, c, err := k.Claim(t.Context(), id, first)
			if err != nil || c != nil || cmp.Diff(&answer, got) != "" {
				t.Errorf("answer %+v, claim %v, error %v", got, c, err)
			}
		}
		refused(t, k, id, second, ErrConflict)
		k.pass(time.Hour)
		claim(t, k, id, second).Release()
	})
}

func TestAReleasedKeyIsFree(t *testing.T) {
	both(t, func(t *testing.T, k kind) {
		id := idOf(t, "a", "k")
		claim(t, k, id, first).Release()
		c := claim(t, k, id, second)
		c.Release()
		c.Keep(answer, time.Hour)
		claim(t, k, id, first).Release()
	})
}

func TestAnAnswerThatIsTooLargeIsNotKept(t *testing.T) {
	both(t, func(t *testing.T, k kind) {
		id := idOf(t, "a", "k")
		claim(t, k, id, first).Keep(Answer{Body: make([]byte, MaxBody+1)}, time.Hour)
		claim(t, k, id, first).Release()
	})
}

func TestOfManyAtOnceOneGetsTheKey(t *testing.T) {
	both(t, func(t *testing.T, k kind) {
		claims := make(chan Claim, 20)
		var wg sync.WaitGroup
		id := idOf(t, "a", "k")
		for range 20 {
			wg.Go(func() {
				if _, c, err := k.Claim(t.Context(), id, first); err == nil {
					claims <- c
				}
			})
		}
		wg.Wait()
		if len(claims) != 1 {
			t.Errorf("%d have the key", len(claims))
		}
		close(claims)
		for c := range claims {
			c.Release()
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	m := NewMemory(time.Now)
	big := Answer{Body: make([]byte, MaxBody)}
	for i := range 20 {
		claim(t, m, idOf(t, "a", strings.Repeat("k", i+1)), first).Keep(big, time.Hour)
	}
	if kept := m.shelves["a"].kept.Len(); m.bytes > maxMemory || len(m.entries) != kept {
		t.Errorf("%d bytes in %d entries, %d kept", m.bytes, len(m.entries), kept)
	}
	if a, _, err := m.Claim(t.Context(), idOf(t, "a", strings.Repeat("k", 20)), first); a == nil {
		t.Errorf("the newest answer is gone: %v", err)
	}
}

// A tenant that floods the memory pushes out its own answers, and none of another's.
func TestAFloodOfOneTenantsKeysLeavesOthersTheirs(t *testing.T) {
	now := time.Now()
	m := NewMemory(func() time.Time { return now })
	theirs := idOf(t, "b", "order")
	claim(t, m, theirs, first).Keep(answer, time.Hour)
	big := Answer{Body: make([]byte, MaxBody)}
	for i := range 20 {
		claim(t, m, idOf(t, "a", strings.Repeat("k", i+1)), first).Keep(big, time.Hour)
	}
	if got, _, err := m.Claim(t.Context(), theirs, first); err != nil || got == nil {
		t.Fatalf("answer %v, error %v; want the one that was kept", got, err)
	}
	// What has expired goes before anything else.
	now = now.Add(time.Hour - time.Minute)
	for i := range 4 {
		claim(t, m, idOf(t, "c", strings.Repeat("k", i+1)), first).Keep(big, time.Hour)
	}
	now = now.Add(time.Minute)
	for i := range 3 {
		claim(t, m, idOf(t, "d", strings.Repeat("k", i+1)), first).Keep(big, time.Hour)
	}
	if len(m.shelves) != 2 || m.shelves["c"].kept.Len() != 4 || m.bytes > maxMemory {
		// a and b are gone, and nobody lost what is good
		t.Errorf("%d bytes of %d tenants", m.bytes, len(m.shelves))
	}
}

func TestADeadHoldersKeyBecomesFree(t *testing.T) {
	m := miniredis.RunT(t)
	dead, alive := NewRedis(client(m), false, time.Now), NewRedis(client(m), false, time.Now)
	defer alive.Close()
	defer dead.Close()
	id := idOf(t, "a", "k")
	lost := claim(t, dead, id, first).(*redisClaim)
	m.FastForward(lease - time.Millisecond)
	lost.renew()
	m.FastForward(lease - time.Millisecond)
	refused(t, alive, id, first, ErrInProgress)
	m.FastForward(time.Millisecond)
	c := claim(t, alive, id, first)
	lost.Keep(Answer{Body: []byte("late")}, time.Hour) // it was not dead after all
	c.Keep(answer, time.Hour)
	if got, _, err := alive.Claim(t.Context(), id, first); err != nil || string(got.Body) != string(answer.Body) {
		t.Errorf("answer %v, error %v; want that of the holder", got, err)
	}
}

func TestAnAnswerAfterItsLeaseIsKeptWhileTheKeyIsFree(t *testing.T) {
	m := miniredis.RunT(t)
	r := NewRedis(client(m), false, time.Now)
	defer r.Close()
	id := idOf(t, "a", "k")
	c := claim(t, r, id, first)
	m.FastForward(lease)
	c.Keep(answer, time.Hour)
	if got, _, err := r.Claim(t.Context(), id, first); err != nil || got == nil {
		t.Errorf("answer %v, error %v", got, err)
	}
}

func TestWithoutRedis(t *testing.T) {
	for _, local := range []bool{false, true} {
		m := miniredis.RunT(t)
		now := time.Now()
		r := NewRedis(client(m), local, func() time.Time { return now })
		id := idOf(t, "a", "k")
		open := claim(t, r, idOf(t, "a", "before"), first)
		m.SetError("LOADING")
		if local {
			claim(t, r, id, first).Keep(answer, time.Hour)
			if got, _, err := r.Claim(t.Context(), id, first); err != nil || got == nil {
				t.Errorf("answer %v, error %v", got, err)
			}
		} else {
			refused(t, r, id, first, ErrUnavailable)
			open.Keep(answer, time.Hour) // is lost, and holds nobody up
			m.SetError("")
			refused(t, r, id, first, ErrUnavailable) // Redis rests
			now = now.Add(rest)
			claim(t, r, id, first).Release()
		}
		open.Release()
		r.Close()
	}
}

func TestKeysThatAreNoKeys(t *testing.T) {
	for _, key := range []string{"", strings.Repeat("k", maxKey+1), "a\x00b", "é", "a\tb"} {
		if _, err := NewID("a", key); err == nil || strings.Contains(err.Error(), key) && key != "" {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if idOf(t, "a", "bc") == idOf(t, "ab", "c") || idOf(t, "a", "b").key() == idOf(t, "a:", "b").key() {
		t.Error("tenants share a key")
	}
}

func TestFingerprints(t *testing.T) {
	base := FingerprintOf("POST", "/v1/x", []byte(`{"a":1,"b":[1,2],"c":{"x":"é","y":null}}`))
	same := []string{
		` { "c" : { "y":null, "x":"é" }, "b":[1, 2], "a":1 } `,
		`{"a":1,"b":[1,2],"c":{"x":"\u00e9","y":null}}`,
	}
	other := []string{
		`{"a":1,"b":[2,1],"c":{"x":"é","y":null}}`, `{"a":1,"b":[1,2],"c":{"x":"é"}}`, `{"a":"1","b":[1,2],"c":{"x":"é","y":null}}`,
		`{"a":1.0,"b":[1,2],"c":{"x":"é","y":null}}`, `{}`, ``, `{`, `{"a":1,"b":[1,2],"c":{"x":"é","y":null}}{}`,
		`{"a":"\ud800"}`, `{"a":"\ud801"}`, `{"a":"\ufffd"}`, `{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":2}`,
		`{"a":100000000000000000000000001}`, `{"a":100000000000000000000000000}`,
	}
	for _, body := range same {
		if FingerprintOf("POST", "/v1/x", []byte(body)) != base {
			t.Errorf("%s is another request", body)
		}
	}
	seen := map[Fingerprint]string{
		base: "the first", FingerprintOf("GET", "/v1/x", []byte(other[0])): "GET", FingerprintOf("POST", "/v1/y", []byte(other[0])): "a path",
	}
	for _, body := range other {
		f := FingerprintOf("POST", "/v1/x", []byte(body))
		if was, ok := seen[f]; ok {
			t.Errorf("%s is the same request as %s", body, was)
		}
		seen[f] = body
	}
}

// A fingerprint is one of what the body means: white space changes nothing.
func FuzzFingerprint(f *testing.F) {
	for _, body := range []string{`{"b":[1,2.50,"x"],"a":{"c":null}}`, `[]`, `"\ud800"`, `{`, `1e999`, `{"a":1,"a":2}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var again bytes.Buffer
		if !utf8.Valid(body) || bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) > 60 || json.Indent(&again, body, " ", "\t") != nil {
			t.Skip("counts byte for byte")
		}
		if FingerprintOf("POST", "/", body) != FingerprintOf("POST", "/", again.Bytes()) {
			t.Errorf("%q and %q differ", body, again.String())
		}
	})
}
