package gateway

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// OpenAI's clients decode each line of a stream as UTF-8 and each event as JSON, and
// raise on the first that is neither: before they read the event that would tell them
// what went wrong. So nothing of the kind goes on to them.

// validJSON tells whether a document is JSON that every client can read.
func validJSON(document []byte) bool {
	return utf8.Valid(document) && !tooDeep(document) && gjson.ValidBytes(document)
}

// object tells whether a document of valid UTF-8 is a JSON object.
func object(document []byte) bool {
	document = bytes.TrimLeft(document, " \t\r\n")
	return len(document) > 0 && document[0] == '{' && !tooDeep(document) && gjson.ValidBytes(document)
}

// read reads an event. One that reports an error is none the less for being garbage.
func (r *relay) read(f frame) chunk {
	c, seen := chunk{output: true, sound: true}, r.mould.text(f.event)
	if c.heard = r.mould.around; seen > 0 {
		c.heard.bytes += int64(seen)
	} else {
		c, seen = r.x.dialect.event(f.event), len(f.event.Data)
		r.mould.take(f.event.Data, c.bit)
	}
	if c.output || !r.x.dialect.options { // the events of a response bring its output again as a whole, some upstreams only so
		r.x.spent.seen += int64(seen)
	}
	c.garbage = !utf8.Valid(f.raw) || !c.sound && !ending(f.event) && !object(f.event.Data)
	if c.garbage && bytes.Equal(f.event.Name, errorName) {
		c.failed = true
	}
	return c
}

func ending(e openai.Event) bool { return bytes.Equal(bytes.TrimSpace(e.Data), doneData) }

// spoil keeps an event here that is garbage. One that says nothing was to keep the
// connection open, and when all choices have ended nothing is missing but [DONE], which
// end adds. Otherwise the answer is broken.
func (r *relay) spoil(f frame) *failure {
	data := bytes.TrimSpace(f.event.Data)
	if len(data) == 0 || string(data) == "null" || r.answered() {
		return nil
	}
	return interrupted("the upstream sent an event that is not a JSON object", fmt.Errorf("%d bytes of data", len(f.event.Data)))
}

// aside passes a block without an event on, such as a comment.
func (r *relay) aside(f frame) *failure {
	if !utf8.Valid(f.raw) {
		return nil
	}
	return r.write(f.raw, false)
}

// answered tells whether every choice of a completion has ended.
func (r *relay) answered() bool {
	return r.x.dialect.options && int64(len(r.finished)) >= r.choices
}
