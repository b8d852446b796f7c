package gateway

import (
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
)

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Neither the log nor the file of usage can be written for a while: requests are
// served, the metrics tell of it, and when the file can be written again every record
// is there, once.
func TestRequestsAreServedWhileNothingCanBeWritten(t *testing.T) {
	const requests = 20
	path := filepath.Join(t.TempDir(), "usage.db")
	s := serve(t, replies(200, plainReply), priced, func(_ *config.Config, o *Options) {
		o.Logger = slog.New(slog.NewJSONHandler(fullDisk{}, nil))
		ledger, err := usage.Open(t.Context(), "sqlite:"+path, usage.Options{Logger: o.Logger})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ledger.Close() })
		o.Ledger = ledger
	})
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil { // from here on no write succeeds
		t.Fatal(err)
	}
	for range requests {
		if got := s.post(plainBody); got.status != 200 {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
	until(t, "the metrics to tell", func() bool { return strings.Contains(s.metrics(), "llmctl_gateway_usage_store_failing 1\n") })
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	until(t, "the metrics to tell that it is over", func() bool {
		page := s.metrics()
		return strings.Contains(page, "llmctl_gateway_usage_store_failing 0\n") && strings.Contains(page, "llmctl_gateway_usage_records_waiting 0\n")
	})
	s.settled()
	if sums := s.sums(); sums.Requests != requests || sums.Input != 11*requests || s.gateway.ledger.Stats().Lost != 0 {
		t.Errorf("sums %+v, want those of %d requests", sums, requests)
	}
}

// Redis is restarted, and comes back empty, while a stream runs: budgets go on from
// the ledger of usage, slots are not lost, and nothing needs a restart.
func TestRedisThatIsRestartedEmpty(t *testing.T) {
	for whenDown, want := range map[string]int{"refuse": 503, "local": 200} {
		t.Run("when down "+whenDown, func(t *testing.T) {
			m := miniredis.RunT(t)
			arrived, release := make(chan struct{}, 100), make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if !gjson.GetBytes(body, "stream").Bool() {
					replies(200, plainReply)(w, r)
					return
				}
				sse(w, helloEvent)
				arrived <- struct{}{}
				<-release
				sse(w, finishEvent, usageEvent, doneEvent)
			}, keeping(t), priced, sharing(m, whenDown), configure(func(c *config.Config) {
				c.Tenants[0].Limits = config.Limits{Concurrent: 2, OutputTPM: 1 << 30, USDPerDay: 1}
			}))
			for range 3 {
				if got := s.post(plainBody); got.status != 200 {
					t.Fatalf("status %d: %s", got.status, got.body)
				}
			}
			running := s.send(t.Context(), streamBody, "")
			wait(t, arrived, "the stream")
			m.Close()
			m.FlushAll()
			got := s.post(plainBody)
			if got.status != want || want == 503 && gjson.Get(got.body, "error.code").Str != "limits_unavailable" {
				t.Errorf("status %d without Redis, want %d: %s", got.status, want, got.body)
			}
			if err := m.Restart(); err != nil {
				t.Fatal(err)
			}
			until(t, "Redis to be found again", func() bool { return strings.Contains(s.metrics(), "llmctl_gateway_limits_store_up 1\n") })
			close(release)
			if a := wait(t, running, "the stream"); a.status != 200 || !strings.HasSuffix(a.body, doneEvent) {
				t.Errorf("the stream that ran: status %d, %s", a.status, a.body)
			}
			for range 3 { // in turn, so that one slot would do
				if got := s.post(plainBody); got.status != 200 {
					t.Errorf("status %d with Redis back: %s", got.status, got.body)
				}
			}
			s.gateway.open.Lock() // every request has ended
			standing, err := s.gateway.limits.Standing(t.Context(), "search")
			s.gateway.open.Unlock()
			if err != nil || standing[0].Open != 0 || standing[0].Held != 0 {
				t.Errorf("standing %+v, %v", standing, err)
			}
			sums := s.sums()
			// Also what the stream used, of which this Redis knew nothing.
			if spent, billed := int64(standing[0].Day.Spent), sums.InputCost+sums.OutputCost; spent != billed || billed == 0 {
				t.Errorf("the budget says %d nano-dollars, usage %d", spent, billed)
			}
			s.settled()
		})
	}
}
