package record

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// full is a record with every field set.
func full() *Record {
	return &Record{
		ID: 7, Tenant: "t\"1", Class: "batch", Session: 3, Turn: 2, PrefixGroup: Counted(0), Model: "m/é", RequestID: "req-1",
		Scheduled: At(0), Sent: At(1), Wrote: At(1500 * time.Microsecond), FirstByte: At(time.Second), First: At(1100 * time.Millisecond),
		FirstVisible: At(1200 * time.Millisecond), Last: At(90 * time.Second), Finished: At(90*time.Second + 1), Closed: At(91 * time.Second),
		AskedInput: Counted(10), AskedOutput: Counted(5), Input: Counted(11), Cached: Counted(0), Output: Counted(4),
		TokensSource: FromUsage, ShortOutput: true, UsageImplausible: true,
		Chunks:  &MeasuredChunks{Times: []time.Duration{1100 * time.Millisecond, 90 * time.Second}, Tokens: []int32{3, 1}},
		Outcome: Failed, Failure: HTTPFailure(429), Detail: "slow\ndown", Attempts: 2, HTTPStatus: 429, FinishReason: "stop",
	}
}

func TestRecordLine(t *testing.T) {
	want := `{"id":7,"tenant":"t\"1","class":"batch","session":3,"turn":2,"prefix_group":0,"model":"m/é","request_id":"req-1",` +
		`"scheduled_s":0,"sent_s":0.000000001,"wrote_s":0.0015,"first_byte_s":1,"first_s":1.1,"first_visible_s":1.2,"last_s":90,"finished_s":90.000000001,"closed_s":91,` +
		`"asked_input_tokens":10,"asked_output_tokens":5,"input_tokens":11,"cached_tokens":0,"output_tokens":4,"tokens_source":"usage","short_output":true,"usage_implausible":true,` +
		`"chunks":[[1.1,3],[90,1]],"outcome":"failed","failure":"http_429","detail":"slow\ndown","attempts":2,"http_status":429,"finish_reason":"stop"}`
	if diff := cmp.Diff(want, string(full().AppendJSON(nil))); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	empty := &Record{Outcome: Dropped}
	if got, want := string(empty.AppendJSON(nil)), `{"id":0,"session":0,"turn":0,"outcome":"dropped","attempts":0}`; got != want {
		t.Errorf("record without measurements = %s, want %s", got, want)
	}
}

func TestDecodeIsTolerant(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		want       Record
	}{
		{"unknown fields", `{"id":1,"new":{"a":[1,"}"]},"outcome":"ok","é":null}`, Record{ID: 1, Outcome: OK}},
		{"white space and order", " { \"outcome\" : \"ok\" , \"id\" : 2 } ", Record{ID: 2, Outcome: OK}},
		{"exponents", `{"id":1,"sent_s":1.5e-3,"outcome":"ok"}`, Record{ID: 1, Sent: At(1500 * time.Microsecond), Outcome: OK}},
		{"chunks without tokens", `{"chunks":[[0.5],[1]],"outcome":"ok"}`, Record{Outcome: OK, Chunks: &MeasuredChunks{Times: []time.Duration{5e8, 1e9}}}},
		{"chunks of both kinds", `{"chunks":[[0.5,2],[1]],"outcome":"ok"}`, Record{Outcome: OK, Chunks: &MeasuredChunks{Times: []time.Duration{5e8, 1e9}, Tokens: []int32{2, -1}}}},
		{"chunks with members to come", `{"chunks":[[0.5,2,9]],"outcome":"ok"}`, Record{Outcome: OK, Chunks: &MeasuredChunks{Times: []time.Duration{5e8}, Tokens: []int32{2}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got Record
			if err := json.Unmarshal([]byte(tc.line), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct{ name, line, want string }{
		{"not an object", `[1]`, "expected '{'"},
		{"no outcome", `{"id":1}`, "no outcome"},
		{"empty", ``, "ends at byte 0"},
		{"text for a number", `{"id":"1","outcome":"ok"}`, "expected a number"},
		{"leading zero", `{"id":01,"outcome":"ok"}`, "expected ',' or '}'"},
		{"negative count", `{"input_tokens":-1,"outcome":"ok"}`, "count -1 is out of range"},
		{"huge time", `{"sent_s":1e300,"outcome":"ok"}`, "as seconds"},
		{"cut", `{"outcome":"ok"`, "ends at byte 15"},
		{"two values", `{"outcome":"ok"}{}`, "expected the end"},
		{"empty chunk", `{"outcome":"ok","chunks":[[]]}`, "empty chunk"},
		{"tokens out of range", `{"outcome":"ok","chunks":[[1,4294967296]]}`, "out of range"},
		{"bad unknown value", `{"outcome":"ok","new":nul}`, "expected null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := new(Record).UnmarshalJSON([]byte(tc.line))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want one with %q", err, tc.want)
			}
		})
	}
}

func anyRecord(t *rapid.T) *Record {
	moment := rapid.Custom(func(t *rapid.T) Moment {
		return Moment(rapid.Int64Range(-1e15, 1e18).Draw(t, "moment"))
	})
	count := rapid.Custom(func(t *rapid.T) Count { return Count(rapid.Int64Range(0, 1<<40).Draw(t, "count")) })
	text := rapid.String()
	r := &Record{
		ID: rapid.Int64().Draw(t, "id"), Tenant: text.Draw(t, "tenant"), Class: text.Draw(t, "class"),
		Session: rapid.Int64().Draw(t, "session"), Turn: rapid.Int().Draw(t, "turn"), PrefixGroup: count.Draw(t, "group"),
		Model: text.Draw(t, "model"), RequestID: text.Draw(t, "request id"),
		Scheduled: moment.Draw(t, "scheduled"), Sent: moment.Draw(t, "sent"), Wrote: moment.Draw(t, "wrote"),
		FirstByte: moment.Draw(t, "first byte"), First: moment.Draw(t, "first"), FirstVisible: moment.Draw(t, "visible"),
		Last: moment.Draw(t, "last"), Finished: moment.Draw(t, "finished"), Closed: moment.Draw(t, "closed"),
		AskedInput: count.Draw(t, "asked in"), AskedOutput: count.Draw(t, "asked out"), Input: count.Draw(t, "in"),
		Cached: count.Draw(t, "cached"), Output: count.Draw(t, "out"),
		TokensSource: rapid.SampledFrom([]TokensSource{"", FromUsage, Estimated, FromChunk}).Draw(t, "source"),
		ShortOutput:  rapid.Bool().Draw(t, "short"), UsageImplausible: rapid.Bool().Draw(t, "implausible"),
		Outcome: rapid.SampledFrom([]Outcome{OK, Failed, Cancelled, Cut, Dropped}).Draw(t, "outcome"),
		Failure: rapid.SampledFrom([]Failure{"", StreamError, HTTPFailure(500)}).Draw(t, "failure"),
		Detail:  text.Draw(t, "detail"), Attempts: rapid.Int().Draw(t, "attempts"),
		HTTPStatus: rapid.Int().Draw(t, "status"), FinishReason: text.Draw(t, "reason"),
	}
	if n := rapid.IntRange(0, 5).Draw(t, "chunks"); n > 0 {
		m := &MeasuredChunks{}
		for range n {
			m.Times = append(m.Times, time.Duration(rapid.Int64Range(-1e15, 1e18).Draw(t, "chunk")))
			m.Tokens = append(m.Tokens, rapid.Int32Range(0, math.MaxInt32).Draw(t, "tokens"))
		}
		switch rapid.IntRange(0, 2).Draw(t, "counted") {
		case 0:
			m.Tokens = nil
		case 1:
			m.Tokens[0] = -1
			if n == 1 {
				m.Tokens = nil
			}
		}
		r.Chunks = m
	}
	return r
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRecord(t)
		line := want.AppendJSON(nil)
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
		got := new(Record)
		if err := got.UnmarshalJSON(line); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestSecondsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "ns"))
		text := appendSeconds(nil, d)
		got, err := parseSeconds(text)
		// Beyond 18 digits the text goes through a float64.
		if err != nil || got != d && len(text) < 19 {
			t.Fatalf("%d ns became %s and then %d (%v)", d, text, got, err)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(full().AppendJSON(nil))
	f.Add([]byte(`{"outcome":"ok","chunks":[[1e-9],[2,3]],"x":[{"y":"\u0000"}]}`))
	f.Add([]byte(`{"outcome":"cut","sent_s":-0.5,"id":-3}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r := new(Record)
		if r.UnmarshalJSON(line) != nil {
			return
		}
		again := new(Record)
		text := r.AppendJSON(nil)
		if err := again.UnmarshalJSON(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatalf("changed on the way (-first +second):\n%s", diff)
		}
		if !json.Valid(line) {
			t.Fatalf("accepted what is not JSON: %s", line)
		}
	})
}

func benchRecord() *Record {
	r := full()
	r.Tenant, r.Detail, r.Model = "tenant", "", "llama"
	m := &MeasuredChunks{}
	for i := range 100 {
		m.Times = append(m.Times, time.Duration(i)*10_123_457)
		m.Tokens = append(m.Tokens, 1)
	}
	r.Chunks = m
	return r
}

func BenchmarkAppendJSON(b *testing.B) {
	r := benchRecord()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = r.AppendJSON(dst[:0])
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkDecodeRecord(b *testing.B) {
	line := benchRecord().AppendJSON(nil)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if err := new(Record).UnmarshalJSON(line); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleHTTPFailure() {
	fmt.Println(HTTPFailure(503))
	// Output: http_503
}
