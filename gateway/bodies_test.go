package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/picker"
)

// sendAs is send with another key.
func (s *stand) sendAs(ctx context.Context, key, body string) <-chan answer {
	r := s.request(ctx, body)
	r.Header.Set("Authorization", "Bearer "+key)
	done := make(chan answer, 1)
	go func() { done <- s.do(r) }()
	return done
}

// Bodies in memory have a bound in all: what one key sends before its limits can be
// asked cannot fill the memory, and small requests get through as soon as there is
// room.
func TestBodiesInMemoryAreBounded(t *testing.T) {
	const each = 64 << 10
	arrived, release := make(chan struct{}, 2*bodiesAtOnce), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, plainReply)
	}, configure(func(c *config.Config) { c.MaxBody = each }))
	large := strings.Replace(plainBody, `"hi"`, `"`+strings.Repeat("x", each*3/4)+`"`, 1)
	room := bodiesAtOnce * each / 2 / len(large) // of one tenant alone
	done := make(chan int, room)
	for range room {
		go func() { done <- s.post(large).status }()
	}
	for range room {
		wait(t, arrived, "a request")
	}
	if got := s.post(large); got.status != 503 || gjson.Get(got.body, "error.code").Str != "overloaded" || got.header.Get("Retry-After") != "1" {
		t.Errorf("one more: status %d, %s", got.status, got.body)
	}
	// Another tenant has room, for what is large and what is small.
	for _, body := range []string{large, plainBody} {
		theirs := s.sendAs(t.Context(), chatKey, body)
		wait(t, arrived, "another tenant's request")
		defer func() {
			if got := wait(t, theirs, "an answer"); got.status != 200 {
				t.Errorf("another tenant: status %d, %s", got.status, got.body)
			}
		}()
	}
	close(release)
	for range room {
		if status := wait(t, done, "an answer"); status != 200 {
			t.Errorf("status %d", status)
		}
	}
	if got := s.post(large); got.status != 200 {
		t.Errorf("afterwards: status %d, %s", got.status, got.body)
	}
	s.settled()
	if n := s.gateway.bodies.total(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// Answers that are not streamed have a bound in all, too: some large ones at once are
// held, one more is told to come again, small ones and streams pass, and all is free
// in the end, whatever became of the answers.
func TestAnswersInMemoryAreBounded(t *testing.T) {
	const each = 64 << 10
	release := make(chan struct{})
	reply := strings.Replace(plainReply, "Hello world", strings.Repeat("x", each*7/8), 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case gjson.GetBytes(body, "stream").Bool():
			sse(w, helloEvent, finishEvent, doneEvent)
		case gjson.GetBytes(body, "user").Str == "small":
			replies(200, plainReply)(w, r)
		case gjson.GetBytes(body, "user").Str == "large":
			replies(200, reply)(w, r)
		case gjson.GetBytes(body, "user").Str == "huge":
			replies(200, strings.Replace(plainReply, "Hello", strings.Repeat("x", each), 1))(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, reply[:each*3/4])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-release:
				_, _ = io.WriteString(w, reply[each*3/4:])
			case <-r.Context().Done():
			}
		}
	}, configure(func(c *config.Config) { c.MaxAnswer = each }))
	held := func() int64 { return s.gateway.wholes.total() }
	gone, leave := context.WithCancel(t.Context())
	done := s.send(t.Context(), plainBody, "")
	until(t, "an answer", func() bool { return held() == each*3/4 })
	for name, body := range map[string]string{"a small one": `{"user":"small",` + plainBody[1:], "a stream": streamBody} {
		if got := s.post(body); got.status != 200 {
			t.Errorf("%s: status %d, %s", name, got.status, got.body)
		}
	}
	more := s.send(gone, plainBody, "")
	until(t, "one more", func() bool { return held() == 2*each*3/4 })
	got := s.post(plainBody)
	if got.status != 503 || gjson.Get(got.body, "error.code").Str != "overloaded" || got.header.Get("Retry-After") != "1" {
		t.Errorf("too many: status %d, %s", got.status, got.body)
	}
	if !strings.Contains(s.metrics(), "llmctl_gateway_body_refused_total{of=\"answer\"} 1\n") {
		t.Error("it is not counted")
	}
	if got := wait(t, s.sendAs(t.Context(), chatKey, `{"user":"large",`+plainBody[1:]), "another tenant"); got.status != 200 {
		t.Errorf("another tenant: status %d, %s", got.status, got.body)
	}
	leave()
	wait(t, more, "the one that leaves")
	until(t, "what the one that left held", func() bool { return held() == each*3/4 })
	close(release)
	if got := wait(t, done, "an answer"); got.status != 200 || got.body != reply {
		t.Errorf("status %d, %d bytes", got.status, len(got.body))
	}
	if got := s.post(`{"user":"huge",` + plainBody[1:]); got.status != 502 || !strings.Contains(got.body, "larger than 65536 bytes") {
		t.Errorf("a huge one: status %d, %.300s", got.status, got.body)
	}
	s.settled()
	if held() != 0 {
		t.Errorf("%d bytes are held", held())
	}
}

// What a stream holds of an event that does not end counts like an answer, and is free
// when the event has ended.
func TestAnEventThatDoesNotEndIsHeldLikeAnAnswer(t *testing.T) {
	const most = 128 << 10 // half of which one tenant may hold, of four times that
	var s *stand
	sent, ended := make(chan struct{}), make(chan struct{})
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent, `data: {"choices":[{"index":0,"delta":{"content":"`, strings.Repeat("x", most))
		_ = http.NewResponseController(w).Flush()
		<-sent
		sse(w, `"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-ended
		sse(w, `data: {"choices":[{"index":0,"delta":{"content":"`, strings.Repeat("x", 4*most), `"}}]}`+"\n\n", finishEvent, doneEvent)
	}, configure(func(c *config.Config) { c.MaxAnswer = most }))
	done := s.send(t.Context(), streamBody, "")
	until(t, "the event", func() bool { return s.gateway.wholes.total() >= most })
	close(sent)
	until(t, "the event to pass", func() bool { return s.gateway.wholes.total() == 0 })
	close(ended)
	got := wait(t, done, "the stream")
	if _, last, _ := strings.Cut(got.body, `data: {"error"`); !strings.Contains(last, "overloaded") || strings.Contains(last, "[DONE]") {
		t.Errorf("status %d, %d bytes, the end %.300q", got.status, len(got.body), got.body[max(0, len(got.body)-300):])
	}
	s.settled()
	if n := s.gateway.wholes.total(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// However many tenants take what they can, all together stay below the bound, and
// one that holds little finds room for a little.
func TestNoTenantTakesTheMemoryFromOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 1 << 20
		var b bodies
		tenants := rapid.IntRange(1, 8).Draw(t, "tenants")
		held := make([]int64, tenants)
		for range rapid.IntRange(1, 200).Draw(t, "takes") {
			i := rapid.IntRange(0, tenants-1).Draw(t, "tenant")
			n := rapid.Int64Range(1, most/4).Draw(t, "bytes")
			name := string(rune('a' + i))
			if b.take(name, n, most) {
				held[i] += n
			} else {
				b.giveBack(name, n)
			}
			if b.total() >= most {
				t.Fatalf("%d bytes are held", b.total())
			}
		}
		if n := int64(most >> (tenants + 1)); !b.take("another", n, most) {
			t.Errorf("%d tenants hold %v: no room for %d bytes of another", tenants, held, n)
		}
		b.giveBack("another", b.shares["another"])
		for i, n := range held {
			b.giveBack(string(rune('a'+i)), n)
		}
		if b.total() != 0 || len(b.shares) != 0 {
			t.Errorf("%d bytes of %d tenants are left", b.total(), len(b.shares))
		}
	})
}

// Requests by way of Envoy share the memory with all others, as one tenant, and among
// themselves by their fairness ids.
func TestBodiesByWayOfEnvoyLeaveRoom(t *testing.T) {
	const each = 1 << 10
	s := serve(t, mustNotBeCalled(t), configure(func(c *config.Config) { c.MaxBody = each }))
	from := func(id string) picker.Request {
		return picker.Request{Header: func(name string) string {
			if name == fairnessHeader {
				return id
			}
			return ""
		}}
	}
	g := s.gateway
	if !g.holdEnvoys(from("a"), bodiesAtOnce/4*each) || g.holdEnvoys(from("a"), 1) {
		t.Error("one fairness id may not hold a quarter, or more than that")
	}
	g.holdEnvoys(from("a"), -1)
	if !g.holdEnvoys(from("b"), each) {
		t.Error("another fairness id has no room")
	}
	if !g.bodies.take("search", each, bodiesAtOnce*each) {
		t.Error("a tenant has no room")
	}
	if !strings.Contains(s.metrics(), "llmctl_gateway_body_refused_total{of=\"request\"} 1\n") {
		t.Error("the refusal is not counted once")
	}
	g.bodies.giveBack("search", each)
	g.holdEnvoys(from("a"), -bodiesAtOnce/4*each)
	g.holdEnvoys(from("b"), -each)
	if g.bodies.total() != 0 || g.envoys.total() != 0 {
		t.Errorf("%d and %d bytes are held", g.bodies.total(), g.envoys.total())
	}
}

func TestBodiesAreReadWhole(t *testing.T) {
	for _, size := range []int{0, 1, 8 << 10, 8<<10 + 1, believedLength, believedLength + 1, 9 * believedLength} {
		body := bytes.Repeat([]byte("0123456789abcde\n"), size/16+1)[:size]
		for _, length := range []int{-1, size, size / 2, size + 1, 0} { // the last ones are no headers that net/http lets through
			got, err := readAll(iotest.HalfReader(bytes.NewReader(body)), int64(length), int64(max(size, length)))
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes of announced %d: %d bytes, error %v", size, length, len(got), err)
			}
			if length == size && cap(got) > size+size/8+64 {
				t.Errorf("%d bytes take %d", size, cap(got))
			}
			if size == 0 {
				continue
			}
			if got, err := readAll(bytes.NewReader(body), int64(length), int64(size-1)); !errors.Is(err, errTooLong) || got != nil {
				t.Errorf("%d bytes, one too many: %d bytes, error %v", size, len(got), err)
			}
		}
		broken := io.MultiReader(bytes.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF))
		if _, err := readAll(broken, -1, 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes that break off: error %v", size, err)
		}
	}
}

// A large body takes little more memory than it has bytes where its length is known,
// and twice that where it is not.
func BenchmarkReadAll(b *testing.B) {
	body := make([]byte, 64<<20)
	for name, length := range map[string]int64{"known": int64(len(body)), "unknown": -1} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readAll(bytes.NewReader(body), length, 1<<30); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
