package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	ledger "github.com/llmctl/llmctl/gateway/usage"
)

func TestAmountsOfMoneyCanBeRead(t *testing.T) {
	for _, test := range []struct {
		name    string
		n       ledger.NanoUSD
		unknown int64
		want    string
	}{
		{"nothing", 0, 0, "0"},
		{"the least there is", 1, 0, "0.000000001"},
		{"three millionths", 3_000, 0, "0.000003"},
		{"three digits behind the zeros", 123_456, 0, "0.000123"},
		{"cents", 120_000_000, 0, "0.12"},
		{"less than a cent", 7_500_000, 0, "0.0075"},
		{"nearly a dollar", 999_999_999, 0, "1.00"},
		{"a dollar", 1_000_000_000, 0, "1.00"},
		{"thousands", 1_234_567_891_000, 0, "1,234.57"},
		{"millions", 12_345_678_000_000_000, 0, "12,345,678.00"},
		{"unknown", 0, 3, "?"},
		{"some of it unknown", 2_500_000_000, 1, "≥ 2.50"},
	} {
		if got := money(test.n, test.unknown); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// The table fits a terminal of 80 columns with names as long as people give and
// numbers of a busy year.
func TestUsageFitsEightyColumns(t *testing.T) {
	busy := ledger.Sums{
		Requests: 98_765_432, Input: 123_456_789_012, Cached: 9_999_999, Output: 34_567_890_123, SavedInput: 5_000_000, SavedOutput: 4_000_000,
		InputCost: 61_728_394_506_000_000, OutputCost: 51_851_835_184_000_000, PricedInput: 123_456_789_012, PricedOutput: 34_567_890_123,
		SavedCost: 123_456_789_000, Unpriced: 5, SavedUnpriced: 1,
	}
	var b strings.Builder
	by := []ledger.Dimension{ledger.Tenant, ledger.Alias}
	groups := []ledger.Group{{Values: []string{"search-team-eu", "assistant-large"}, Sums: busy}, {Values: []string{"chat", "small"}, Sums: ledger.Sums{Requests: 1}}}
	if err := writeUsage(&b, by, groups); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	const want = `requests and tokens
  tenant          alias            requests  input     cached  output      saved
  search-team-eu  assistant-large    98.8 M  123 G  9,999,999  34.6 G  9,000,000
  chat            small                   1      0                  0

dollars
  tenant          alias                           $  $/1M in  $/1M out   saved $
  search-team-eu  assistant-large  ≥ 113,580,229.69   500.00  1,500.00  ≥ 123.46
  chat            small                           0

?, ≥: all, or some, of it went to models without usd_per_1m
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUsageOfNothingSaysSo(t *testing.T) {
	var b strings.Builder
	if err := writeUsage(&b, []ledger.Dimension{ledger.Tenant}, nil); err != nil || b.String() != "nothing was metered in this time\n" {
		t.Errorf("%q, %v", &b, err)
	}
}

// Columns that say nothing are not there.
func TestUsageWithoutCachesHasNoColumnOfThem(t *testing.T) {
	var b strings.Builder
	groups := []ledger.Group{{Values: []string{"a"}, Sums: ledger.Sums{Requests: 1, Input: 5, Output: 7, InputCost: 75, PricedInput: 1_000}}}
	if err := writeUsage(&b, []ledger.Dimension{ledger.Tenant}, groups); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "cached") || strings.Contains(text, "saved") || !strings.Contains(text, "0.000000075  0.000075") {
		t.Errorf("%s", text)
	}
}
