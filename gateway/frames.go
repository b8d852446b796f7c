package gateway

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/llmctl/llmctl/internal/openai"
)

// frame is a complete piece of an event stream: an event with the exact bytes
// that carried it, or the bytes of a block without one, such as a comment.
type frame struct {
	raw     []byte
	event   openai.Event
	isEvent bool
}

// framer cuts a byte stream into frames whose raw bytes, put together, are the
// stream again. openai.Decoder decides what an event is; the framer feeds it a
// line at a time to learn where each event ends.
type framer struct {
	decoder openai.Decoder
	pending []byte // a frame whose end has not arrived
	inLine  bool   // pending ends inside of a line
	afterCR bool   // the last byte was a CR: an LF right after belongs to its line
	clean   bool   // nothing of what came is part of what will come
}

// maxEvent is the largest event that is passed on, in bytes: one with a picture in it
// has some millions.
const maxEvent = 16 << 20

// push yields the frames that p completes. Each is valid until the next one.
func (f *framer) push(p []byte) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		start, at := 0, 0
		for at < len(p) {
			if size, data := f.usual(p[at:]); size > 0 && start == at {
				at += size
				if !yield(frame{raw: p[start:at], event: openai.Event{Data: data}, isEvent: true}) {
					return
				}
				start = at
				continue
			}
			n, complete := f.line(p[at:])
			line := p[at : at+n]
			blank := !f.inLine && complete && !f.afterCR && (line[0] == '\n' || line[0] == '\r')
			at += n
			f.inLine = !complete
			f.afterCR = complete && at == len(p) && line[n-1] == '\r'
			f.clean = blank && line[n-1] == '\n'
			f.decoder.Push(line)
			event, ok := f.decoder.Next()
			if !ok && !blank {
				continue
			}
			next := yield(frame{raw: f.whole(p[start:at]), event: event, isEvent: ok})
			if f.pending = f.pending[:0]; cap(f.pending) > largeEvent {
				f.pending = nil
			}
			start = at
			f.decoder.Next() // takes in the LF of a CRLF; there is no event in it
			if !next {
				return
			}
		}
		f.pending = openai.AppendDoubling(f.pending, p[start:])
	}
}

// usual is the size of an event at the start of p in the form in which nearly all
// come: one line of data and a blank one, after an event that left nothing behind. It
// needs no decoder; size is 0 for all others.
func (f *framer) usual(p []byte) (size int, data []byte) {
	line, found := bytes.CutPrefix(p, dataField)
	if !found || !f.clean {
		return 0, nil
	}
	end := bytes.IndexByte(line, '\n')
	if end < 0 || end+1 == len(line) || line[end+1] != '\n' || bytes.IndexByte(line[:end], '\r') >= 0 {
		return 0, nil
	}
	return len(dataField) + end + 2, bytes.TrimPrefix(line[:end], []byte{' '})
}

var dataField = []byte("data:")

// line returns how many bytes of p belong to its first line, with its end.
func (f *framer) line(p []byte) (n int, complete bool) {
	if f.afterCR && p[0] == '\n' {
		return 1, true
	}
	f.afterCR = false
	end := bytes.IndexByte(p, '\n')
	head := p
	if end >= 0 {
		head = p[:end]
	}
	switch cr := bytes.IndexByte(head, '\r'); {
	case cr >= 0 && cr+1 == end:
		return end + 1, true
	case cr >= 0:
		return cr + 1, true
	case end >= 0:
		return end + 1, true
	}
	return len(p), false
}

func (f *framer) whole(tail []byte) []byte {
	if len(f.pending) == 0 {
		return tail
	}
	f.pending = openai.AppendDoubling(f.pending, tail)
	return f.pending
}

// end returns what the stream left without a blank line after it.
func (f *framer) end() frame {
	f.decoder.End()
	event, ok := f.decoder.Next()
	return frame{raw: f.pending, event: event, isEvent: ok}
}

// err reports a frame beyond the limit. Comments count too, else a server could
// fill the memory with them.
func (f *framer) err() error {
	if err := f.decoder.Err(); err != nil {
		return err
	}
	if len(f.pending) > maxEvent {
		return fmt.Errorf("%w: over %d bytes", openai.ErrEventTooLarge, maxEvent)
	}
	return nil
}
