package wire

import (
	"bytes"
	"io"
)

// Limits on what is not body. A head of more than a megabyte, and a line of a
// chunk of more than four kilobytes, are an attack or no HTTP; net/http has the
// same.
const (
	maxHead = 1 << 20
	maxLine = 4 << 10
)

// Parser reads one response to a POST as its bytes arrive, whatever their
// boundaries (RFC 9112): interim responses are skipped, the body is given back
// without its framing. The zero Parser is ready.
//
//	for len(data) > 0 && !p.Ended() {
//		var body []byte
//		if body, data, err = p.Next(data); err != nil { … }
//		use(body)
//	}
//
// In steady state it does not allocate.
type Parser struct {
	head    Head
	state   state
	began   bool   // some byte has come
	line    []byte // a line whose end has not arrived
	headLen int    // bytes of heads so far, interim ones included
	left    uint64 // bytes of the body or chunk that are missing
	close   bool   // the connection ends with this response
}

// state is what the next byte belongs to.
type state int

const (
	inStatus    state = iota
	inFields          // of the head
	inBody            // of a known length
	inRest            // a body that the end of the connection ends
	inChunkSize       // the line before a chunk
	inChunk           // its data
	inChunkCR         // the line end after the data
	inChunkLF         //
	inTrailer         // fields after the last chunk
	atEnd
)

// Began reports whether any byte of a response has come.
func (p *Parser) Began() bool { return p.began }

// Head is the head of the final response, nil as long as it is not complete. It
// is valid until Reset.
func (p *Parser) Head() *Head {
	if p.state <= inFields {
		return nil
	}
	return &p.head
}

// Ended reports whether the response is complete.
func (p *Parser) Ended() bool { return p.state == atEnd }

// Reusable reports whether the connection may carry another request after a
// response that has ended.
func (p *Parser) Reusable() bool { return p.state == atEnd && !p.close }

// Reset makes the parser ready for another response.
func (p *Parser) Reset() {
	*p = Parser{head: Head{block: p.head.block[:0], fields: p.head.fields[:0]}, line: p.line[:0]}
}

// Next consumes the start of data up to the end of the next piece of the body,
// which aliases data; rest is what it did not consume. When the body is empty,
// so is the rest or the response has ended. Errors wrap ErrMalformed; nothing
// may be pushed after one.
func (p *Parser) Next(data []byte) (body, rest []byte, err error) {
	p.began = p.began || len(data) > 0
	for len(data) > 0 {
		switch p.state {
		case atEnd:
			return nil, data, nil
		case inRest:
			return data, nil, nil
		case inBody, inChunk:
			body, rest = p.take(data)
			return body, rest, nil
		case inChunkCR, inChunkLF:
			if want := "\r\n"[p.state-inChunkCR]; data[0] != want {
				return nil, data, malformed("%q after the data of a chunk", data[0])
			}
			p.state++
			if p.state > inChunkLF {
				p.state = inChunkSize
			}
			data = data[1:]
		default:
			if data, err = p.nextLine(data); err != nil {
				return nil, data, err
			}
		}
	}
	return nil, nil, nil
}

// take returns what data holds of the body or of the chunk.
func (p *Parser) take(data []byte) (body, rest []byte) {
	n := int(min(uint64(len(data)), p.left))
	if p.left -= uint64(n); p.left == 0 {
		if p.state == inBody {
			p.state = atEnd
		} else {
			p.state = inChunkCR
		}
	}
	return data[:n], data[n:]
}

// End says that the connection has been closed. It returns nil when that is a
// proper end of the response, io.EOF when no byte of one has come, and
// io.ErrUnexpectedEOF otherwise.
func (p *Parser) End() error {
	switch {
	case p.state == atEnd || p.state == inRest:
		p.state, p.close = atEnd, true
		return nil
	case !p.began:
		return io.EOF
	default:
		return io.ErrUnexpectedEOF
	}
}

// nextLine handles one line, or the start of one.
func (p *Parser) nextLine(data []byte) (rest []byte, err error) {
	if p.state == inStatus && len(p.line) == 0 && data[0] == 0 {
		return data, malformed("it begins with %q", clip(data)) // no line ever comes; a frame of HTTP/2 begins so
	}
	n := bytes.IndexByte(data, '\n')
	complete := n >= 0
	if !complete {
		n = len(data) - 1
	}
	part, rest := data[:n+1], data[n+1:]
	if err := p.within(len(part)); err != nil {
		return rest, err
	}
	if !complete || len(p.line) > 0 {
		p.line = append(p.line, part...)
		part = p.line
	}
	if !complete {
		return nil, nil
	}
	p.line = p.line[:0]
	return rest, p.handle(part[:len(part)-1])
}

// within checks the limits when a line grows by n bytes.
func (p *Parser) within(n int) error {
	if p.state == inChunkSize {
		if len(p.line)+n > maxLine {
			return malformed("a chunk size of more than %d bytes", maxLine)
		}
		return nil
	}
	if p.headLen += n; p.headLen > maxHead {
		return malformed("a head of more than %d bytes", maxHead)
	}
	return nil
}

// handle handles a complete line without its line feed. Lines of the head may
// end in a line feed alone (RFC 9112, 2.2), lines between chunks may not.
func (p *Parser) handle(line []byte) error {
	bare := bytes.TrimSuffix(line, []byte("\r"))
	switch p.state {
	case inStatus:
		p.state = inFields
		return p.head.statusLine(bare)
	case inFields:
		if len(bare) > 0 {
			return p.head.fieldLine(bare)
		}
		return p.body()
	case inChunkSize:
		if len(bare) == len(line) {
			return malformed("a chunk size that ends in a bare line feed")
		}
		return p.chunkSize(bare)
	default: // inTrailer: nobody needs what it says
		if len(bare) == 0 {
			p.state = atEnd
		}
		return nil
	}
}

// body decides, when the head is complete, how the body is framed (RFC 9112,
// 6.3).
func (p *Parser) body() error {
	if err := p.head.complete(); err != nil {
		return err
	}
	status := p.head.Status
	if status/100 == 1 && status != 101 {
		p.state = inStatus
		return nil
	}
	chunked, err := p.head.chunked()
	if err != nil {
		return err
	}
	length, err := p.head.length()
	if err != nil {
		return err
	}
	p.close = !p.head.keepAlive()
	switch {
	case status == 101: // never asked for: what follows is another protocol
		p.state, p.close = atEnd, true
	case status == 204 || status == 304 || length == 0 && !chunked:
		p.state = atEnd
	case chunked:
		p.state = inChunkSize
	case length > 0:
		p.state, p.left = inBody, uint64(length)
	default:
		p.state, p.close = inRest, true
	}
	return nil
}

// chunkSize reads the line before a chunk: hexadecimal digits, and extensions
// after a semicolon that nobody needs.
func (p *Parser) chunkSize(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > 16 || bytes.IndexByte(line, '\r') >= 0 {
		return malformed("chunk size %q", clip(line))
	}
	var size uint64
	for _, c := range digits {
		digit, ok := hexDigit(c)
		if !ok {
			return malformed("chunk size %q", clip(line))
		}
		size = size<<4 | uint64(digit)
	}
	p.left, p.state = size, inChunk
	if size == 0 {
		p.state, p.headLen = inTrailer, 0
	}
	return nil
}

func hexDigit(c byte) (digit byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
