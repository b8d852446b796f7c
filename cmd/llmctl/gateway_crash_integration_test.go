//go:build integration

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	ledger "github.com/llmctl/llmctl/gateway/usage"
)

// crowd are clients that send one request after the other, and remember which were
// answered, and when they had all of the answer.
type crowd struct {
	g     *runningGateway
	wg    sync.WaitGroup
	leave context.CancelFunc

	mu    sync.Mutex
	whole map[string]time.Time // by request id
}

const crowdSize = 4

func newCrowd(t *testing.T, g *runningGateway) *crowd {
	t.Helper()
	g.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: crowdSize}}
	ctx, leave := context.WithCancel(t.Context())
	c := &crowd{g: g, leave: leave, whole: map[string]time.Time{}}
	c.wg.Go(func() { // a gateway whose log nobody reads would wait
		for range g.lines {
		}
	})
	for range crowdSize {
		c.wg.Go(func() {
			for ctx.Err() == nil && c.send() {
			}
		})
	}
	return c
}

// send makes a request, and reports whether there is still a gateway.
func (c *crowd) send() bool {
	response, err := c.g.open("small")
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK {
		return err == nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole[response.Header.Get("X-Request-Id")] = time.Now()
	return true
}

// end stops the clients of a gateway that was killed.
func (c *crowd) end() {
	c.leave()
	c.wg.Wait()
	c.g.client.CloseIdleConnections()
}

// before is how many answers were whole before a time.
func (c *crowd) before(at time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, whole := range c.whole {
		if whole.Before(at) {
			n++
		}
	}
	return n
}

// commits watches a file of usage from outside: when it has grown.
type commits struct {
	t      *testing.T
	reader *ledger.Reader
	seen   []time.Time
	count  int64
}

func watchCommits(t *testing.T, file string) *commits {
	t.Helper()
	reader, err := ledger.OpenReader(t.Context(), "sqlite:"+file, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &commits{t: t, reader: reader}
}

// look notes a commit, if there was one since the last time.
func (c *commits) look() (new bool) {
	c.t.Helper()
	now := time.Now()
	groups, err := c.reader.Sums(c.t.Context(), ledger.Query{From: now.Add(-48 * time.Hour).Truncate(time.Hour), To: now.Add(48 * time.Hour).Truncate(time.Hour)})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, g := range groups {
		if new = g.Requests > c.count; new {
			c.count = g.Requests
			c.seen = append(c.seen, time.Now())
		}
	}
	return new
}

// gaps are the times between commits, the last of which may go on.
func (c *commits) gaps(until time.Time) (all []time.Duration) {
	for i, at := range append(c.seen[1:len(c.seen):len(c.seen)], until) {
		all = append(all, at.Sub(c.seen[i]))
	}
	return all
}

// A gateway is killed under load, again and again, at any moment between two writes.
// Whoever had his answer a second before is on the bill, once, at its price, and
// nobody is who sent nothing. The second is two periods of the ledger's writer; on a
// machine that is too busy for it, as long as two of those took that were seen.
func TestAKillLosesNoMoreThanTheLastSecond(t *testing.T) {
	const period, price = 500 * time.Millisecond, 15_000 // nano-dollars of a request
	file := filepath.Join(t.TempDir(), "usage.db")
	configuration := paidGateway(paidUpstream(t), fmt.Sprintf("usage: %q", "sqlite:"+file), "usd_per_month: 1000000")
	kept, sent := map[string]bool{}, map[string]bool{}
	for _, phase := range []time.Duration{0, period / 2, period - 20*time.Millisecond} {
		g := startGateway(t, configuration)
		c, w := newCrowd(t, g), watchCommits(t, file)
		w.look() // what earlier rounds wrote is none
		w.seen = nil
		bound := func() time.Duration { return 2 * max(period, slices.Max(w.gaps(time.Now()))) }
		for deadline := time.Now().Add(gatewayPatience); len(w.seen) < 5 || c.before(time.Now().Add(-bound()-period)) < 100; time.Sleep(5 * time.Millisecond) {
			w.look()
			if time.Now().After(deadline) {
				t.Fatalf("%d commits were seen, and %d answers", len(w.seen), len(c.whole))
			}
		}
		for at := w.seen[len(w.seen)-1].Add(phase); time.Now().Before(at); time.Sleep(5 * time.Millisecond) {
			w.look()
		}
		killed, second := time.Now(), bound()
		g.kill()
		c.end()
		if gaps := w.gaps(killed); slices.Min(gaps[:len(gaps)-1]) > 2*period {
			t.Errorf("the ledger never wrote within a second: %v", gaps)
		}

		earlier := len(kept)
		for id := range c.whole {
			sent[id] = true
		}
		records := map[string]bool{}
		strangers := 0
		if err := w.reader.Requests(t.Context(), killed.Add(-time.Hour), killed.Add(time.Hour), func(r *ledger.Record) error {
			cost, ok := r.Cost.Total().Value()
			if records[r.RequestID] || !ok || cost != price || r.Tenant != "search" || r.Tokens.Input != 11 || r.Tokens.Output != 2 {
				t.Errorf("record %+v, there before: %t", *r, records[r.RequestID])
			}
			records[r.RequestID] = true
			if !sent[r.RequestID] && !kept[r.RequestID] {
				strangers++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if strangers > crowdSize { // of answers that were cut off, or on their way
			t.Errorf("%d records are of no answer that a client had", strangers)
		}
		lost := 0
		for id, whole := range c.whole {
			if !records[id] && whole.Before(killed.Add(-second)) {
				lost++
			}
		}
		for id := range kept {
			if !records[id] {
				t.Errorf("record %s of an earlier round is gone", id)
			}
		}
		requests, spent := recorded(t, file)
		if lost > 0 || requests != int64(len(records)) || spent != price*requests {
			t.Errorf("%d answers are lost that were whole %v before the kill; %d records, sums of %d for %d nano-dollars", lost, second, len(records), requests, spent)
		}
		t.Logf("killed %v after a write: %d answers, %d records more, bound %v", phase, len(c.whole), len(records)-earlier, second)
		kept = records
		if err := w.reader.Close(); err != nil {
			t.Error(err)
		}
	}
}
