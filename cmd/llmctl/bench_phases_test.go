package main

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

func testStream(t interface{ Fatal(...any) }, a profiles.Arrival, o workload.Options) *workload.Stream {
	tokens := profiles.Distribution{Kind: profiles.Fixed, Mean: 8}
	s, err := workload.New(profiles.Workload{Arrival: a, Input: tokens, Output: tokens}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShares: the shares of all shards add up, and in an open loop they are the
// requests that one machine would have measured.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "shards")
		requests := rapid.IntRange(1, 60).Draw(t, "requests")
		warmup := time.Duration(rapid.IntRange(0, 2000).Draw(t, "warmup")) * time.Millisecond
		arrival := profiles.Arrival{Process: profiles.Poisson, RatePerS: 20}
		whole := testStream(t, arrival, workload.Options{Seed: 3})
		last, seen := time.Duration(0), 0
		for i := range n {
			share := workShare{i, n}.share(requests, whole, warmup)
			seen += share
			part := testStream(t, arrival, workload.Options{Seed: 3, Shard: i, Shards: n})
			k := int64(0)
			for part.Offset(k) < warmup {
				k++
			}
			if share > 0 {
				last = max(last, part.Offset(k+int64(share)-1))
			}
		}
		first := int64(0)
		for whole.Offset(first) < warmup {
			first++
		}
		if want := whole.Offset(first + int64(requests) - 1); seen != requests || last != want {
			t.Fatalf("%d requests of %d, the last is due at %v, want %v", seen, requests, last, want)
		}
	})
}

func TestParseStart(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"+30s":                      now.Add(30 * time.Second),
		"2030-01-02T03:05:05Z":      now.Add(time.Minute),
		"2030-01-02T05:05:05+02:00": now.Add(time.Minute),
	} {
		if got, err := parseStart(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestWorst(t *testing.T) {
	with := func(code int) error { return &failure{code: code} }
	for _, tt := range []struct {
		all  []error
		want int
	}{
		{[]error{nil, nil}, exitOK},
		{[]error{nil, with(exitNotHeld), nil}, exitNotHeld},
		{[]error{with(exitUntrusted), with(exitNotHeld)}, exitUntrusted},
		{[]error{with(exitUntrusted), errors.New("disk full")}, exitFailed},
		{[]error{errors.New("disk full"), with(exitInterrupted)}, exitInterrupted},
	} {
		err := worst(tt.all)
		code := exitOK
		if f := new(failure); errors.As(err, &f) {
			code = f.code
		} else if err != nil {
			code = exitFailed
		}
		if code != tt.want {
			t.Errorf("%v: %d, want %d", tt.all, code, tt.want)
		}
	}
}
