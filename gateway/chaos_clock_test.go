package gateway

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/alicebob/miniredis/v2"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// steppedClock is the machine's clock, whose wall part somebody sets.
type steppedClock struct{ seconds atomic.Int64 }

// now is what time.Now returns after the step: package time keeps the seconds of the
// wall clock from bit 30 of its first word on, beside the monotonic reading, which
// stays as it is. There is no other way to make such a time.
func (c *steppedClock) now() time.Time {
	t := time.Now()
	*(*uint64)(unsafe.Pointer(&t)) += uint64(c.seconds.Load()) << 30 //nolint:gosec // see above
	return t
}

func (c *steppedClock) step(d time.Duration) { c.seconds.Store(int64(d / time.Second)) }

func (c *steppedClock) use(_ *config.Config, o *Options) { o.Now = c.now }

func TestSteppedClockStepsTheWallClockAlone(t *testing.T) {
	var c steppedClock
	before := c.now()
	c.step(-24 * time.Hour)
	after := c.now()
	if d := after.Sub(before); d < 0 || d > time.Hour {
		t.Errorf("the monotonic clock moved by %v", d)
	}
	if d := after.Round(0).Sub(before.Round(0)); d > -23*time.Hour {
		t.Errorf("the wall clock moved by %v", d)
	}
}

// The wall clock jumps by a day while a stream runs, and back: no time-out, limit,
// cache or time measured follows it, nothing is billed wrongly and no record is lost.
func TestClockThatJumpsByADay(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock steppedClock
			release := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if !gjson.GetBytes(body, "stream").Bool() {
					replies(200, plainReply)(w, r)
					return
				}
				sse(w, helloEvent)
				<-release
				sse(w, worldEvent, finishEvent, usageEvent, doneEvent)
			}, clock.use, keeping(t), priced, cachingExactly, configure(func(c *config.Config) {
				c.Tenants[0].Limits = config.Limits{RPM: 20, OutputTPM: 100_000, Concurrent: 2, USDPerDay: 1, USDPerMonth: 1}
			}))
			s.post(coldBody)
			s.keyed("k", plainBody)
			response, err := s.client.Do(s.request(t.Context(), streamBody))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() //nolint:errcheck // read to its end
			stream := bufio.NewReader(response.Body)
			if _, err := stream.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			left := response.Header.Get("X-Ratelimit-Remaining-Requests")

			clock.step(step)
			hit := s.post(coldBody)
			if hit.header.Get("X-Llmctl-Cache") != "hit" || hit.header.Get("Age") > "5" || len(hit.header.Get("Age")) > 1 {
				t.Errorf("cache %q of age %q", hit.header.Get("X-Llmctl-Cache"), hit.header.Get("Age"))
			}
			if left == "20" || len(hit.header.Get("X-Ratelimit-Remaining-Requests")) > len(left) || hit.header.Get("X-Ratelimit-Remaining-Requests") == "20" {
				t.Errorf("%s requests were left before the step, and %s after it", left, hit.header.Get("X-Ratelimit-Remaining-Requests"))
			}
			if again := s.keyed("k", plainBody); again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("the idempotency key is forgotten: status %d", again.status)
			}
			close(release)
			if rest, err := io.ReadAll(stream); err != nil || !strings.HasSuffix(string(rest), doneEvent) {
				t.Errorf("the stream ended with %q, %v", rest, err)
			}
			clock.step(0)
			if got := s.post(plainBody); got.status != 200 {
				t.Errorf("status %d with the clock set right", got.status)
			}
			s.settled()
			paid := 0
			for _, r := range s.records() {
				if r.Tokens.Input > 0 {
					paid++
				}
				for _, d := range []interface{ Value() (time.Duration, bool) }{r.TTFT, r.E2E, r.TPOT} {
					if v, ok := d.Value(); ok && (v < 0 || v > time.Hour) {
						t.Errorf("a time of %v in %+v", v, r)
					}
				}
			}
			sums := s.sums()
			if len(s.records()) != 6 || paid != 4 || sums.Input != 4*11 || sums.Output != 4*2 || sums.InputCost+sums.OutputCost != 4*15_000 {
				t.Errorf("%d records, %d paid, sums %+v", len(s.records()), paid, sums)
			}
		})
	}
}

// Redis fails, the clock is set back, and Redis is well again: idempotency keys work
// a second later, and not when the clock has come to where it was.
func TestClockThatIsSetBackWhileRedisIsAway(t *testing.T) {
	var clock steppedClock
	m := miniredis.RunT(t)
	s := serve(t, replies(200, plainReply), clock.use, sharing(m, ""), configure(func(c *config.Config) { c.Tenants[0].Limits.RPM = 1 << 30 }))
	m.SetError("LOADING Redis is loading the dataset in memory")
	if got := s.keyed("k", plainBody); got.status != 503 || gjson.Get(got.body, "error.code").Str != "limits_unavailable" || got.header.Get("Retry-After") != "1" {
		t.Errorf("status %d without Redis: %s", got.status, got.body)
	}
	clock.step(-24 * time.Hour)
	m.SetError("")
	until(t, "idempotency keys to work again", func() bool { return s.keyed("k", plainBody).status == 200 })
	s.settled()
}
