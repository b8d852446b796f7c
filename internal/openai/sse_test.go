package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/openai"
	"pgregory.net/rapid"
)

// event is a decoded event as text.
type event struct{ Name, Data string }

// decode feeds the decoder one piece at a time, as reads from a socket would,
// and returns all events.
func decode(pieces ...string) (events []event, err error) {
	var d openai.Decoder
	drain := func() {
		for e, ok := d.Next(); ok; e, ok = d.Next() {
			events = append(events, event{string(e.Name), string(e.Data)})
		}
	}
	for _, piece := range pieces {
		d.Push([]byte(piece))
		drain()
	}
	d.End()
	drain()
	return events, d.Err()
}

// c is a chat chunk with one piece of content.
func c(text string) string {
	return `{"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`
}

func datas(data ...string) (events []event) {
	for _, d := range data {
		events = append(events, event{Data: d})
	}
	return events
}

// framing are streams that broke other clients; the pieces are the reads of the
// report. The numbers in the comments are the public bug reports.
var framing = []struct {
	name   string
	pieces []string
	want   []event
}{
	{"T01 read ends after data:", []string{"data:", " " + c("a") + "\n\ndata: [DONE]\n\n"}, datas(c("a"), "[DONE]")}, // vllm#51172
	{"T02 read ends inside text before a space", []string{`data: {"choices":[{"delta":{"content":"a`, ` b"}}]}` + "\n\n"},
		datas(`{"choices":[{"delta":{"content":"a b"}}]}`)},
	{"T03 no space after data:", []string{"data:" + c("a") + "\n\n"}, datas(c("a"))}, // inference-perf#781
	{"T03 only one space is dropped", []string{"data:  x\n\n"}, datas(" x")},
	{"T04 CRLF", []string{"data: " + c("a") + "\r\n\r\ndata: [DONE]\r\n\r\n"}, datas(c("a"), "[DONE]")},
	{"T04 lone CR", []string{"data: " + c("a") + "\r\rdata: [DONE]\r\r"}, datas(c("a"), "[DONE]")},
	{"T04 mixed line ends", []string{"data: a\r\n\ndata: b\r\r\ndata: c\n\r\n"}, datas("a", "b", "c")},
	{"T05 delimiter split", []string{"data: a\r", "\n\r", "\n", "data: b\r\n\r\n"}, datas("a", "b")}, // a2a-js#718
	{"T07 multibyte character cut", []string{"data: \xe4", "\xb8\xad\n\n"}, datas("中")},              // vllm#50868
	{"T08 no final blank line", []string{"data: a\n\ndata: {\"usage\":{}}\n"}, datas("a", `{"usage":{}}`)},
	{"T08 no final line end at all", []string{"data: a\n\ndata: [DONE]"}, datas("a", "[DONE]")},
	{"T09 two events in one read", []string{"data: " + c("a") + "\n\ndata: " + c("b") + "\n\n"}, datas(c("a"), c("b"))}, // nm-vllm#142
	{"T11 comments", []string{": ping\n\ndata: a\n\n: ping\n\n: ping\ndata: b\n\n:\n\n"}, datas("a", "b")},
	{"T13 event of 200 KB", []string{"data: " + strings.Repeat("x", 200<<10) + "\n\n"}, datas(strings.Repeat("x", 200<<10))}, // TensorRT-LLM#13952
	{"T14 line of 70 KB, then usage", []string{"data: " + strings.Repeat("x", 70<<10), "\n\ndata: u\n\n"},
		datas(strings.Repeat("x", 70<<10), "u")}, // openai-go#368
	{"T66 [DONE] without the space", []string{"data: a\n\ndata:[DONE]\n\n"}, datas("a", "[DONE]")},
	{"T69 role and content in one read", []string{"data: role\n\ndata: " + c("a") + "\n\n"}, datas("role", c("a"))},
	{"T17 BOM, id, retry, unknown field", []string{"\uFEFFid: 1\nretry: 10\nfoo: bar\ndata: a\n\n"}, datas("a")},
	{"T17 BOM before data", []string{"\uFEFFdata: a\n\n"}, datas("a")},
	{"T17 BOM cut", []string{"\xef\xbb", "\xbfdata: a\n\n"}, datas("a")},
	{"T17 BOM only once", []string{"data: a\n\n\uFEFFdata: b\n\n"}, datas("a")},
	{"event name", []string{"event: error\ndata: {}\n\ndata: a\n\n"}, []event{{"error", "{}"}, {"", "a"}}},
	{"T34 error field of llama.cpp", []string{"data: a\n\nerror: {\"code\":500}\n\ndata: b\n\n"}, []event{{"", "a"}, {"error", `{"code":500}`}, {"", "b"}}},
	{"empty error field", []string{"error:\ndata: a\n\n"}, datas("a")},
	{"CRLF ends the lines of one event", []string{"event: x\r\ndata: a\r\ndata: b\r\n\r\n"}, []event{{"x", "a\nb"}}},
	{"event name without data is dropped", []string{"event: x\n\ndata: a\n\n"}, datas("a")},
	{"several data lines join", []string{"data: a\ndata: b\ndata\n\n"}, datas("a\nb\n")},
	{"data without colon is empty", []string{"data\n\n"}, datas("")},
	{"line separators of Unicode end nothing", []string{"data: a\u2028b\u2029c\u0085d\n\n"}, datas("a\u2028b\u2029c\u0085d")},
	{"field names are exact", []string{"Data: a\n data: b\ndata : c\n\n"}, nil},
	{"empty stream", []string{""}, nil},
	{"only line ends", []string{"\n\r\n\r\r\n\n"}, nil},
}

func TestFraming(t *testing.T) {
	for _, tt := range framing {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode(tt.pieces...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryCut cuts each stream at each position, and into single bytes.
func TestEveryCut(t *testing.T) {
	for _, tt := range framing {
		stream := strings.Join(tt.pieces, "")
		if len(stream) > 4096 {
			continue // a cut inside 70,000 equal bytes tells nothing new, TestRandomCuts has them
		}
		t.Run(tt.name, func(t *testing.T) {
			for i := range len(stream) + 1 {
				got, err := decode(stream[:i], stream[i:])
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Fatalf("cut at %d: %v\n%s", i, err, diff)
				}
			}
			got, err := decode(strings.Split(stream, "")...)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Fatalf("character by character: %v\n%s", err, diff)
			}
			if got, _ := decode(single(stream)...); !cmp.Equal(tt.want, got) {
				t.Fatalf("byte by byte: %q", got)
			}
		})
	}
}

func single(stream string) (pieces []string) {
	for i := range len(stream) {
		pieces = append(pieces, stream[i:i+1])
	}
	return pieces
}

// TestRandomCuts cuts the joined streams of all cases into random pieces.
func TestRandomCuts(t *testing.T) {
	var all strings.Builder
	for _, tt := range framing {
		all.WriteString(strings.Join(tt.pieces, "") + "\n\n")
	}
	stream := all.String()
	want, err := decode(stream)
	if err != nil || len(want) < len(framing) {
		t.Fatalf("%d events from the whole stream, %v", len(want), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var pieces []string
		for rest := stream; rest != ""; {
			n := min(len(rest), rapid.OneOf(rapid.IntRange(1, 7), rapid.IntRange(1, 70<<10)).Draw(t, "size"))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got, err := decode(pieces...); err != nil || !cmp.Equal(want, got) {
			t.Fatalf("%d pieces give %d events instead of %d, %v", len(pieces), len(got), len(want), err)
		}
	})
}

// TestPushBeforeDrain pushes twice without taking events in between.
func TestPushBeforeDrain(t *testing.T) {
	var d openai.Decoder
	d.Push([]byte("data: a\n\nda"))
	d.Push([]byte("ta: b\r\n\r\n"))
	var got []string
	for e, ok := d.Next(); ok; e, ok = d.Next() {
		got = append(got, string(e.Data))
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventLimit(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		events int
		fails  bool
	}{
		{"at the limit", []string{"data: 1234567890\n\n"}, 1, false},
		{"one line over", []string{"data: 12345678901\n\n"}, 0, true},
		{"an unfinished line over", []string{"data: 12345678901", "2345"}, 0, true},
		{"many lines over", []string{"data: 12345\ndata: 67890\n\n"}, 0, true},
		{"the event before it is delivered", []string{"data: 1\n\ndata: 12345678901\n\n"}, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := openai.Decoder{Max: 10}
			events := 0
			for _, p := range tt.pieces {
				d.Push([]byte(p))
				for _, ok := d.Next(); ok; _, ok = d.Next() {
					events++
				}
			}
			if events != tt.events || errors.Is(d.Err(), openai.ErrEventTooLarge) != tt.fails {
				t.Errorf("%d events, error %v", events, d.Err())
			}
		})
	}
}

// FuzzDecoder checks that the cut does not matter, whatever the bytes are.
func FuzzDecoder(f *testing.F) {
	for _, tt := range framing {
		if stream := strings.Join(tt.pieces, ""); len(stream) < 4096 {
			f.Add(stream, 3, 5)
		}
	}
	f.Fuzz(func(t *testing.T, stream string, a, b int) {
		want, _ := decode(stream)
		a = max(0, min(a, len(stream)))
		b = max(a, min(b, len(stream)))
		if got, _ := decode(stream[:a], stream[a:b], stream[b:]); !cmp.Equal(want, got) {
			t.Fatalf("cut at %d and %d: %q, whole: %q", a, b, got, want)
		}
		if got, _ := decode(single(stream)...); !cmp.Equal(want, got) {
			t.Fatalf("byte by byte: %q, whole: %q", got, want)
		}
	})
}

// BenchmarkDecoder measures one event of a usual chat stream, in reads of 4 KB.
func BenchmarkDecoder(b *testing.B) {
	line := `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,` +
		`"model":"llama-3.1-8b","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	read := []byte(strings.Repeat(line, 16))
	var d openai.Decoder
	events := 0
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for events < b.N {
		d.Push(read)
		for _, ok := d.Next(); ok; _, ok = d.Next() {
			events++
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
