//go:build integration

package store

import (
	"bufio"
	"context"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/gateway/limit"
)

// freePort is a port that nobody listens on now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it took no connection
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// realRedis starts a redis-server of its own that keeps no files.
func realRedis(t *testing.T, more ...string) (address string) {
	t.Helper()
	port := freePort(t)
	startRedis(t, port, more...)
	return "127.0.0.1:" + port
}

// startRedis starts one at a port, and returns what kills it.
func startRedis(t *testing.T, port string, more ...string) (kill func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is missing, install it (make ci needs it)")
	}
	c := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, more...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return kill
		}
	}
	t.Fatal("redis-server ended")
	return nil
}

// The scripts do in a real Redis what the policy does, and what they do in the
// tests' own.
func TestARealRedisCountsWhatThePolicyCounts(t *testing.T) {
	address := realRedis(t)
	rapid.Check(t, func(t *rapid.T) {
		r, err := NewRedis("redis://"+address, "", RedisOptions{Now: time.Now, Patience: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.client.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		w := newTwin(r)
		w.configure(t)
		t.Repeat(map[string]func(*rapid.T){"configure": w.configure, "reserve": w.reserve, "again": w.reserve})
	})
}

// A cluster refuses scripts whose keys lie in more than one slot.
func TestACluster(t *testing.T) {
	address := realRedis(t, "--cluster-enabled", "yes")
	client, err := Dial("redis://"+address, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for {
		info, err := client.ClusterInfo(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			break
		}
	}
	_ = client.Close()
	r := openAt(t, address+"?addr="+address)
	r.Configure(scopesOf(limit.Bounds{Limits: limit.Limits{RPM: 3}, Budgets: limit.Budgets{Day: 10}}, limit.Bounds{}))
	mustReserve(t, r, keyA, costing(4)).Settle(use(1, 1, 4))
	mustReserve(t, r, keyB, costing(4)).Settle(use(1, 1, 4))
	r.renew(t.Context())
	standing, err := r.Standing(t.Context(), "a")
	if err != nil || standing[0].Day.Spent != 4 {
		t.Errorf("standing %+v, %v", standing, err)
	}
}

func TestLedgersBalanceInARealRedis(t *testing.T) {
	address := realRedis(t)
	balance(t, patientRedis{openAt(t, address)}, patientRedis{openAt(t, address)})
}

// As TestWhateverRedisForgetsBudgetsSayWhatTheBillSays.
func TestWhateverARealRedisForgetsBudgetsSayWhatTheBillSays(t *testing.T) {
	address := realRedis(t)
	client, err := Dial("redis://"+address, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // the test is over
	rapid.Check(t, func(t *rapid.T) {
		forgetful(t, address, func() {
			if err := client.FlushAll(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
		}, nil)
	})
}

// A server is killed and comes back empty, while a request runs, or while its
// settlement waits.
func TestARealRedisThatIsKilledAndComesBackEmpty(t *testing.T) {
	for _, settled := range []string{"before", "meanwhile", "after"} {
		t.Run("settled "+settled, func(t *testing.T) {
			port := freePort(t)
			kill := startRedis(t, port)
			var r *Redis
			var b bill
			edit, asked := b.seeding(&r)
			r = openAt(t, "127.0.0.1:"+port, edit)
			r.Configure(scopesOf(generous, generous))
			if err := r.Seed(t.Context(), tenantA, 0, 0); err != nil {
				t.Fatal(err)
			}
			held := mustReserve(t, r, keyA, costing(20))
			settle := func(when string) {
				if when == settled {
					held.Settle(use(5, 60, 7))
					b.add(7)
				}
			}
			mustReserve(t, r, keyA, costing(1)).Settle(use(1, 1, 1))
			b.add(1)
			settle("before")
			kill()
			settle("meanwhile")
			if settled != "meanwhile" { // somebody notices, or else the next request does
				_, _, _ = r.Reserve(t.Context(), keyA, costing(1))
			}
			startRedis(t, port)
			select {
			case <-asked:
			case <-time.After(20 * time.Second):
				t.Fatal("nobody noticed")
			}
			for deadline := time.Now().Add(20 * time.Second); r.Health().Down; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("Redis was not found again")
				}
			}
			settle("after")
			standing, err := r.Standing(t.Context(), "a")
			if err != nil || standing[0].Day.Spent != 8 || standing[0].Open != 0 || standing[0].Held != 0 {
				t.Errorf("standing %+v, %v, want 8 nano-dollars spent", standing[0], err)
			}
		})
	}
}
