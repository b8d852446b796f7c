package mock

import (
	"strings"
	"time"
)

// apartBy is the time between writes that a reader should see one by one.
const apartBy = 50 * time.Microsecond

// framingFaults are legal, if unusual, ways to write an event stream (WHATWG
// HTML, 9.2.6): a client must read the same answer from all of them.
var framingFaults = []Fault{
	{Name: "split", About: "each event comes in two reads, cut one byte further in each event", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		var pieces []Piece
		for i, p := range script.Pieces {
			at := 1 + i%max(1, len(p.Data)-1)
			pieces = append(pieces, Piece{p.At, p.Data[:at]}, Piece{p.At, p.Data[at:]})
		}
		script.Pieces = spaced(pieces)
		return script
	}},
	{Name: "bytes", About: "every byte comes in a read of its own", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		var pieces []Piece
		for _, p := range script.Pieces {
			pieces = append(pieces, p.apart(1, 0)...)
		}
		script.Pieces = spaced(pieces)
		return script
	}},
	{Name: "together", About: "all events of the answer come in one read", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.Pieces = []Piece{{script.Pieces[len(script.Pieces)-1].At, script.text()}}
		return script
	}},
	framing("crlf", "lines end in CR LF", "\n", "\r\n"),
	framing("cr", "lines end in CR alone", "\n", "\r"),
	framing("no_space", "no space follows data:", "data: ", "data:"),
	framing("done_no_space", "data:[DONE] without a space", "data: [DONE]", "data:[DONE]"),
	framing("done_spaces", "spaces around [DONE]", "data: [DONE]", "data:  [DONE] "),
	framing("comments", "a comment before each event, as proxies send to keep connections open", "data: ", ": ping\n\ndata: "),
	framing("event_lines", "each event has a name: event: message", "data: ", "event: message\ndata: "),
	framing("fields", "id:, retry: and unknown fields", "data: ", "id: 1\nretry: 3000\nfoo: bar\nbaz\ndata: "),
	framing("multiline", "the JSON of an event comes in several data: lines", `,"choices":`, ",\ndata: \"choices\":"),
	framing("line_separators", "raw U+2028, U+2029 and U+0085 inside of a text, which end no line", " word", " w\u2028o\u2029r\u0085d"),
	{Name: "bom", About: "the stream begins with a byte order mark", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.Pieces[0].Data = "\uFEFF" + script.Pieces[0].Data
		return script
	}},
	{Name: "no_blank_line", About: "the stream ends without the blank line after its last event", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		last := &script.Pieces[len(script.Pieces)-1]
		last.Data = strings.TrimRight(last.Data, "\n")
		return script
	}},
	{Name: "utf8_cut", About: "a character of three bytes is cut between reads", make: func(s *Server, r *Request) *Script {
		script := s.script(r).each(func(data string) string { return strings.ReplaceAll(data, "word", "w中rd") })
		var pieces []Piece
		for _, p := range script.Pieces {
			if at := strings.Index(p.Data, "中"); at >= 0 {
				pieces = append(pieces, Piece{p.At, p.Data[:at+1]}, Piece{p.At, p.Data[at+1:]})
				continue
			}
			pieces = append(pieces, p)
		}
		script.Pieces = spaced(pieces)
		return script
	}},
}

// framing is a fault that replaces some text in every event.
func framing(name, about, old, new string) Fault {
	return Fault{Name: name, About: about, make: func(s *Server, r *Request) *Script {
		return s.script(r).each(func(data string) string { return strings.ReplaceAll(data, old, new) })
	}}
}

// spaced delays pieces until each is apartBy after the one before it.
func spaced(pieces []Piece) []Piece {
	for i := 1; i < len(pieces); i++ {
		pieces[i].At = max(pieces[i].At, pieces[i-1].At+apartBy)
	}
	return pieces
}
