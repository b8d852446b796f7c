package openai

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxEventBytes is the largest event a Decoder accepts unless told otherwise.
const MaxEventBytes = 32 << 20

// largeBuffer is what buffers keep after an event. One that a large event needed is
// not kept.
const largeBuffer = 64 << 10

// AppendDoubling is append for what may grow to many megabytes a few kilobytes at a time:
// append itself grows a large slice by a quarter, and leaves four times as much garbage.
func AppendDoubling(to, more []byte) []byte {
	if need := len(to) + len(more); need > cap(to) && need > largeBuffer {
		to = append(make([]byte, 0, max(need, 2*cap(to))), to...)
	}
	return append(to, more...)
}

// ErrEventTooLarge reports an event beyond the decoder's limit.
var ErrEventTooLarge = errors.New("server-sent event is too large")

// Event is one server-sent event. Both slices are valid until the next call to
// the decoder that returned it.
type Event struct {
	Name []byte // value of the event: field, empty when there was none
	Data []byte // data: lines joined with \n
}

// Decoder splits a stream of bytes into server-sent events, whatever the
// boundaries at which the bytes arrive. It follows the WHATWG event-stream
// grammar (CR, LF and CRLF end a line, one space after the colon is dropped, a
// leading byte order mark is skipped, comments and unknown fields are ignored)
// and departs from it in two points: an event that the stream ends without a
// blank line is delivered, because real servers end that way; and a field error,
// by which llama.cpp tells its failures, is an event of that name.
//
//	d.Push(bytesFromRead)
//	for event, ok := d.Next(); ok; event, ok = d.Next() { … }
//	d.End() // at end of stream, then drain Next once more
//
// The zero Decoder is ready. In steady state it does not allocate.
type Decoder struct {
	Max int // bytes per event; 0 means MaxEventBytes

	in      []byte // input that is not consumed yet; aliases the last Push
	lf      int    // position of the next LF in in; noLF when in has none
	line    []byte // a line whose end has not arrived
	name    []byte
	data    []byte
	hasData bool
	skipLF  bool // the last line ended in CR, an LF right after belongs to it
	pastBOM bool
	ended   bool
	clear   bool // the event in name and data has been handed out
	err     error
}

// Push hands the decoder the next bytes of the stream. p must stay unchanged
// until Next returns false.
func (d *Decoder) Push(p []byte) {
	if len(d.in) > 0 {
		p = append(append([]byte(nil), d.in...), p...)
	}
	d.in = p
	d.lf = indexLF(p)
}

// End says that the stream is over.
func (d *Decoder) End() { d.ended = true }

// Err is the error that ended decoding, or nil.
func (d *Decoder) Err() error { return d.err }

// Next returns the next complete event; ok is false when more input is needed,
// the stream is over or Err is set.
func (d *Decoder) Next() (event Event, ok bool) {
	if d.clear {
		d.name, d.data, d.hasData, d.clear = d.name[:0], emptied(d.data), false, false
	}
	for d.err == nil {
		line, complete := d.nextLine()
		if !complete {
			break
		}
		if len(line) > 0 {
			d.field(line)
			continue
		}
		if d.hasData {
			return d.take()
		}
		d.name = d.name[:0]
	}
	if d.err == nil && d.ended && d.hasData && len(d.in) == 0 && len(d.line) == 0 {
		return d.take()
	}
	return Event{}, false
}

func (d *Decoder) take() (Event, bool) {
	d.clear = true
	return Event{Name: d.name, Data: d.data}, true
}

// nextLine returns the next line without its end. At the end of the stream an
// unfinished line counts as complete.
func (d *Decoder) nextLine() (line []byte, complete bool) {
	if d.skipLF && len(d.in) > 0 {
		if d.in[0] == '\n' {
			d.consume(1)
		}
		d.skipLF = false
	}
	end := d.lineEnd()
	if end == noLF {
		d.line = AppendDoubling(d.line, d.in)
		d.in = nil
		d.check(len(d.line) + len(d.data))
		if d.ended && len(d.line) > 0 {
			line, d.line = d.line, d.line[:0]
			return d.withoutBOM(line), true
		}
		return nil, false
	}
	line = d.in[:end]
	d.consume(end + 1)
	if len(d.line) > 0 {
		d.line = AppendDoubling(d.line, line)
		line, d.line = d.line, emptied(d.line)
	}
	return d.withoutBOM(line), true
}

// emptied is a buffer for the next one.
func emptied(buffer []byte) []byte {
	if cap(buffer) > largeBuffer {
		return nil
	}
	return buffer[:0]
}

// lineEnd is the position of the CR or LF that ends the first line of the
// input, noLF when the line is not complete. The next LF is remembered, so that
// a stream of lines that end in CR alone is not searched for an LF once per
// line.
func (d *Decoder) lineEnd() int {
	if len(d.in) == 0 {
		return noLF
	}
	head := d.in
	if d.lf != noLF {
		head = d.in[:d.lf]
	}
	if cr := bytes.IndexByte(head, '\r'); cr >= 0 {
		d.skipLF = true
		return cr
	}
	return d.lf
}

// consume drops the first n bytes of the input.
func (d *Decoder) consume(n int) {
	d.in = d.in[n:]
	switch {
	case d.lf == noLF:
	case d.lf >= n:
		d.lf -= n
	default:
		d.lf = indexLF(d.in)
	}
}

// noLF says that a slice has no line feed.
const noLF = -1

func indexLF(p []byte) int { return bytes.IndexByte(p, '\n') }

func (d *Decoder) withoutBOM(line []byte) []byte {
	if !d.pastBOM {
		d.pastBOM = true
		return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

func (d *Decoder) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if d.hasData {
			d.data = append(d.data, '\n')
		}
		d.data = AppendDoubling(d.data, value)
		d.hasData = true
		d.check(len(d.data))
	case "error":
		if len(value) > 0 {
			d.field([]byte("event: error"))
			d.field(append([]byte("data:"), value...))
		}
	case "event":
		d.name = append(d.name[:0], value...)
	}
}

func (d *Decoder) check(size int) {
	limit := d.Max
	if limit == 0 {
		limit = MaxEventBytes
	}
	if size > limit && d.err == nil {
		d.err = fmt.Errorf("%w: over %d bytes", ErrEventTooLarge, limit)
	}
}
