package store

import (
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
)

func TestAllKeysOfATenantLieInOneSlot(t *testing.T) {
	tags := map[string]string{}
	for _, tenant := range []string{"a", "b", "{a", "a}", "{}", "}{", "{a}b", "ä/ö", "%7Ba"} {
		for _, key := range keysOf(tenant) {
			_, rest, _ := strings.Cut(key, "{") // as Redis Cluster finds the tag
			tag, _, found := strings.Cut(rest, "}")
			if !found || tag == "" {
				t.Errorf("key %q of tenant %q has no tag", key, tenant)
			}
			if other, ok := tags[tag]; ok && other != tenant {
				t.Errorf("tenants %q and %q share a tag", other, tenant)
			}
			tags[tag] = tenant
		}
	}
	if strings.Contains((Account{"a", "x y"}).field(), " ") || (Account{"a", "tenant"}).field() == tenantA.field() {
		t.Error("fields can be taken for others")
	}
}

func TestURLsOfRedis(t *testing.T) {
	for _, address := range []string{"redis://h:1", "rediss://u@h:1/2", "redis://h", "redis://h:1?addr=h:2&addr=h:3"} {
		c, err := Dial(address, "secret", time.Second)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		_ = c.Close()
	}
	for _, address := range []string{"", "h:1", "http://h:1", "redis://", "redis://u:secret@h:1/x", "redis://u:secret@h:1?nonsense=1", "redis://u:secret@h:1?addr=", "redis://u:secret@%zz"} {
		c, err := Dial(address, "", time.Second)
		if err == nil {
			_ = c.Close()
			t.Errorf("%s was taken", address)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error quotes the password: %v", err)
		}
	}
}

// A reply comes from a script of ours, yet whatever stands in the keys, a reply is
// either read or refused.
func FuzzReply(f *testing.F) {
	f.Add("1", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19")
	f.Add("x", "")
	f.Add("1788220800000000", "1 -2 3")
	f.Fuzz(func(t *testing.T, at, state string) {
		r, err := parseReply([]any{int64(1), at, "x.1", state}, nil)
		if err == nil && len(r.states) != 1 {
			t.Errorf("%d states", len(r.states))
		}
	})
}

func TestRepliesThatMakeNoSense(t *testing.T) {
	for name, v := range map[string]any{
		"nothing": nil, "too short": []any{int64(1)}, "no number": []any{"1", "2"}, "a list inside": []any{int64(1), []any{}},
		"a state for a time": []any{int64(1), "1 2", "x.1"}, "a time for a state": []any{int64(1), "1", "x.1", "2"}, "a number for a birth": []any{int64(1), "1", int64(2)},
	} {
		if _, err := parseReply(v, nil); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	m := NewMemory(time.Now)
	const tenants = 500
	var scopes []Scope
	bounds := limit.Bounds{Limits: limit.Limits{RPM: 1e9, InputTPM: 1e12, OutputTPM: 1e12, Concurrent: 1e6}, Budgets: limit.Budgets{Day: 1e18}}
	accounts := make([]Account, tenants)
	for i := range accounts {
		tenant := "tenant-" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		accounts[i] = Account{tenant, "key-1"}
		scopes = append(scopes, Scope{Account{Tenant: tenant}, bounds}, Scope{accounts[i], bounds})
	}
	m.Configure(scopes)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			r := mustReserve(b, m, accounts[i%tenants], ask(100, 100))
			r.Settle(use(100, 50, 10))
		}
	})
}

func BenchmarkRedis(b *testing.B) {
	r := open(b, server(b))
	r.Configure(scopesOf(rates(limit.Limits{RPM: 1e9, OutputTPM: 1e12, Concurrent: 1e6}), limit.Bounds{}))
	for b.Loop() {
		mustReserve(b, r, keyA, ask(100, 100)).Settle(use(100, 50, 10))
	}
}
