package gateway

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/internal/openai"
)

// split runs a stream through a framer in the given pieces.
func split(pieces ...string) (raw []string, events []string) {
	var f framer
	take := func(one frame) {
		raw = append(raw, string(one.raw))
		if one.isEvent {
			events = append(events, string(one.event.Name)+"|"+string(one.event.Data))
		}
	}
	for _, p := range pieces {
		for one := range f.push([]byte(p)) {
			take(one)
		}
	}
	if last := f.end(); len(last.raw) > 0 || last.isEvent {
		take(last)
	}
	return raw, events
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		raw    []string
		events []string
	}{
		{"two events in one read", []string{"data: a\n\ndata: b\n\n"}, []string{"data: a\n\n", "data: b\n\n"}, []string{"|a", "|b"}},
		{"one event over many reads", []string{"da", "ta: ", "a\n", "\n"}, []string{"data: a\n\n"}, []string{"|a"}},
		{"no space after the colon", []string{"data:a\n\n"}, []string{"data:a\n\n"}, []string{"|a"}},
		{"carriage returns and line feeds", []string{"data: a\r\n\r\ndata: b\r\n\r\n"}, []string{"data: a\r\n\r\n", "data: b\r\n\r\n"}, []string{"|a", "|b"}},
		{"split inside CRLF of a line", []string{"data: a\r", "\n\r\n"}, []string{"data: a\r\n\r\n"}, []string{"|a"}},
		{"carriage returns alone", []string{"data: a\r\rdata: b\r\r"}, []string{"data: a\r\r", "data: b\r\r"}, []string{"|a", "|b"}},
		{"a comment does not wait for the next event", []string{": ping\n\n", "data: a\n\n"}, []string{": ping\n\n", "data: a\n\n"}, []string{"|a"}},
		{"names and several data lines", []string{"event: error\ndata: a\ndata: b\n\n"}, []string{"event: error\ndata: a\ndata: b\n\n"}, []string{"error|a\nb"}},
		{"no blank line at the end", []string{"data: a\n\ndata: [DONE]"}, []string{"data: a\n\n", "data: [DONE]"}, []string{"|a", "|[DONE]"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, events := split(test.pieces...)
			if diff := cmp.Diff(test.raw, raw); diff != "" {
				t.Errorf("raw (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.events, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// However the bytes of any stream are cut, the frames are the stream again and
// their events are those that the decoder sees in the whole.
func TestFramesPreserveBytesAndEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"data: é漢🙂", "data:x", "event: e", ": comment", "id: 1", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "data", ":", "\xef\xbb\xbf",
		})).Draw(t, "parts")
		stream := strings.Join(parts, "")
		var pieces []string
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 30)).Draw(t, "piece")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		raw, events := split(pieces...)
		if got := strings.Join(raw, ""); got != stream {
			t.Fatalf("bytes changed:\n%q\n%q", stream, got)
		}
		if want := decode(stream); !slices.Equal(want, events) {
			t.Fatalf("events of %q in pieces %q:\nwant %q\ngot  %q", stream, pieces, want, events)
		}
	})
}

func decode(stream string) (events []string) {
	var d openai.Decoder
	drain := func() {
		for e, ok := d.Next(); ok; e, ok = d.Next() {
			events = append(events, string(e.Name)+"|"+string(e.Data))
		}
	}
	d.Push([]byte(stream))
	drain()
	d.End()
	drain()
	return events
}

func TestEndlessCommentsAreRefused(t *testing.T) {
	var f framer
	line := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	line[0] = ':'
	for range maxEvent>>20 + 1 {
		for range f.push(line) {
			t.Fatal("a comment that has not ended was passed on")
		}
	}
	if err := f.err(); !errors.Is(err, openai.ErrEventTooLarge) {
		t.Errorf("error is %v, want %v", err, openai.ErrEventTooLarge)
	}
}

func BenchmarkFramer(b *testing.B) {
	event := []byte(helloEvent)
	var f framer
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		for one := range f.push(event) {
			if !one.isEvent {
				b.Fatal("no event")
			}
		}
	}
}

func BenchmarkReadChunk(b *testing.B) {
	event := openai.Event{Data: []byte(strings.TrimSpace(strings.TrimPrefix(helloEvent, "data: ")))}
	b.ReportAllocs()
	for b.Loop() {
		if c := readChunk(event); !c.output {
			b.Fatal("no output")
		}
	}
}

// A stream of any length is read with the memory of one event: nothing that has
// passed is kept, or looked at again.
func TestLongStreamsTakeNoMoreMemoryThanShortOnes(t *testing.T) {
	piece := []byte(helloEvent)
	perEvent := func(events int) float64 {
		return testing.AllocsPerRun(3, func() {
			var f framer
			for range events {
				for _, cut := range [][]byte{piece[:20], piece[20:]} {
					for one := range f.push(cut) {
						if !one.isEvent || len(one.raw) != len(piece) {
							t.Fatalf("a frame of %d bytes", len(one.raw))
						}
					}
				}
			}
			if n := cap(f.pending); n > 4*len(piece) {
				t.Errorf("%d bytes are kept after %d events", n, events)
			}
		}) / float64(events)
	}
	if short, long := perEvent(100), perEvent(50_000); long > 1.1*short {
		t.Errorf("%v allocations for each of 100 events, %v for each of 50,000", short, long)
	}
}

// The work for a long event is that for its bytes, each once, however many pieces it
// comes in: what was looked at is kept and never looked at again, so that nobody notices
// when it is overwritten with ends of events.
func TestWhatWasLookedAtIsNotLookedAtAgain(t *testing.T) {
	var f framer
	const pieces = 1000
	frames := 0
	push := func(piece string) {
		for one := range f.push([]byte(piece)) {
			frames++
			if want := len("data: ") + pieces*len("piece") + 2; !one.isEvent || len(one.raw) != want || len(one.event.Data) != pieces*len("piece") {
				t.Fatalf("a frame of %d bytes, %q…, want %d", len(one.raw), one.raw[:min(20, len(one.raw))], want)
			}
		}
		for i := range f.pending {
			f.pending[i] = '\n'
		}
	}
	push("data: ")
	for range pieces {
		push("piece")
	}
	push("\n")
	push("\n")
	if frames != 1 {
		t.Errorf("%d events, want one", frames)
	}
}
