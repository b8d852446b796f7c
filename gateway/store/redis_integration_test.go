//go:build integration

package store

import (
	"bufio"
	"context"
	"net"
	"os/exec"
	"strings"
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
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is missing, install it (make ci needs it)")
	}
	port := freePort(t)
	c := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, more...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return "127.0.0.1:" + port
		}
	}
	t.Fatal("redis-server ended")
	return ""
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
