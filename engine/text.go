package engine

import (
	"strings"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// text turns a request's tokens into the text that may be sent: whole
// characters only, and nothing that may turn out to be the beginning of a stop
// string.
//
// vLLM holds back the longest stop string's length less one, always; here only
// as much is held as really is the beginning of a stop string, so that streams
// with stop strings are not late. The text is the same.
type text struct {
	stops   []string
	keep    bool // a stop string is sent
	decoder tokenizer.Decoder
	names   tokenizer.Tokenizer // of special tokens, which are sent; nil where they are not
	held    string              // decoded and not sent: a proper prefix of a stop string
}

// push adds a token. ready is what may be sent now; stop is the stop string
// that was completed, of which nothing is sent unless it is kept.
func (t *text) push(token int32) (ready, stop string) {
	decoded := t.decode(token)
	if len(t.stops) == 0 {
		return decoded, ""
	}
	return t.scan(decoded)
}

// pass adds a token whose text must not be taken for a stop string, because the
// request asked for more tokens first.
func (t *text) pass(token int32) (ready string) {
	return t.decode(token)
}

// decode is the text of a token behind those before.
func (t *text) decode(token int32) string {
	if t.names != nil && t.names.Special(token) {
		return t.decoder.Flush() + t.names.Name(token)
	}
	return t.decoder.Push(token)
}

// flush returns what is still held, at the end of a request. After a stop
// string nothing is.
func (t *text) flush() string {
	ready := t.held + t.decoder.Flush()
	t.held = ""
	return ready
}

// scan looks for the stop string that begins first.
func (t *text) scan(decoded string) (ready, stop string) {
	all := t.held + decoded
	at := -1
	for _, s := range t.stops {
		if i := strings.Index(all, s); i >= 0 && (at < 0 || i < at) {
			at, stop = i, s
		}
	}
	if at >= 0 {
		t.held = ""
		t.decoder.Flush() // what stands behind it
		if t.keep {
			at += len(stop)
		}
		return all[:at], stop
	}
	keep := 0
	for _, s := range t.stops {
		keep = max(keep, overlap(all, s))
	}
	t.held = all[len(all)-keep:]
	return all[:len(all)-keep], ""
}

// overlap is the length of the longest end of text that is a proper beginning
// of stop.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
