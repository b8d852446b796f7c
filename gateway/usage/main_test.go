package usage

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/optional"
	"go.uber.org/goleak"
)

// doomed makes the test's binary a writer that is to be killed.
var doomed = flag.String("doomed-file", "", "append to this usage file until killed")

func TestMain(m *testing.M) {
	flag.Parse()
	if *doomed != "" {
		writeUntilKilled(*doomed)
	}
	goleak.VerifyTestMain(m)
}

// forever keeps what tests write, however long ago it ended.
const forever = 200 * 365 * 24 * time.Hour

// noon is when records of tests end, unless they say otherwise.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// sample is a priced request with everything known.
func sample(edit ...func(*Record)) *Record {
	r := &Record{
		RequestID: "req-1", At: noon,
		Tenant: "search", Key: "key-1", Alias: "small", Provider: "cluster", Model: "real-model",
		Arm: "stable", Class: "interactive", Outcome: "ok", OK: true, Status: 200,
		Tokens:   Tokens{Input: 100, Cached: optional.Counted(40), Output: 20, Reasoning: optional.Counted(5)},
		Cost:     Cost{Known(60_000), Known(20_000)},
		TTFT:     optional.Measured(50 * time.Millisecond),
		TPOT:     optional.Measured(5 * time.Millisecond),
		E2E:      optional.Measured(150 * time.Millisecond),
		Queue:    optional.Measured(2 * time.Millisecond),
		Attempts: 1,
	}
	for _, e := range edit {
		e(r)
	}
	return r
}

// openTest returns a ledger over a new SQLite file.
func openTest(t *testing.T, o Options) (*Ledger, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "usage.db")
	return reopen(t, path, o), path
}

func reopen(t *testing.T, path string, o Options) *Ledger {
	t.Helper()
	if o.Keep == 0 {
		o.Keep = forever
	}
	l, err := Open(t.Context(), "sqlite:"+path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a test that cares closes it itself
	return l
}

// month is a query for all of noon's month.
func month(by ...Dimension) Query {
	return Query{By: by, From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}
}

func mustSums(t *testing.T, s Source, q Query) []Group {
	t.Helper()
	groups, err := s.Sums(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// brief writes groups as values, requests, tokens and cost, for comparison.
func brief(groups []Group) []string {
	lines := []string{}
	for _, g := range groups {
		lines = append(lines, fmt.Sprintf("%v %d %d/%d $%s", g.Values, g.Requests, g.Input, g.Output, g.Charge()))
	}
	return lines
}
