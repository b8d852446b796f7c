package mock

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Script is an answer as the bytes of its body, cut where the network shall cut
// it.
type Script struct {
	Status int         // 0 is 200
	Header http.Header // Content-Type is text/event-stream unless it is here
	// Raw says that the pieces are the whole response, status line and framing
	// included, so that the framing itself can be at fault.
	Raw    bool
	Pieces []Piece
	End    End
	Every  time.Duration // between repetitions, for Repeat

	tokens int // of a regular answer: pieces before its finish_reason
}

// Piece is what one write sends.
type Piece struct {
	At   time.Duration // when it is sent, since the request arrived; at once when that has passed
	Data string
}

// End is how an answer ends after its last piece.
type End int

// The ends. All but Close leave the connection unusable for another request.
const (
	Close  End = iota // the HTTP message ends as it should
	Abort             // the connection ends inside the message, in an orderly way (FIN)
	Hang              // nothing more comes until the client leaves
	Reset             // the connection breaks (RST)
	Drop              // the message ends as it should, and the connection right after, though nothing said so
	Repeat            // the last piece comes again and again until the client leaves
)

var endNames = []string{"close", "abort", "hang", "reset", "drop", "repeat"}

// String is the name of the end in a script file.
func (e End) String() string { return endNames[e] }

// Event is one server-sent event.
func Event(data string) string { return "data: " + data + "\n\n" }

// Done is the event that ends a stream.
const Done = "data: [DONE]\n\n"

// Cut is a script without delays whose pieces are the given ones.
func Cut(pieces ...string) *Script {
	s := new(Script)
	for _, p := range pieces {
		s.Pieces = append(s.Pieces, Piece{Data: p})
	}
	return s
}

// apart cuts a piece into writes of n bytes, a gap of time between them so that
// a reader that is awake sees each alone.
func (p Piece) apart(n int, gap time.Duration) (pieces []Piece) {
	for at := p.At; ; at += gap {
		pieces = append(pieces, Piece{at, p.Data[:min(n, len(p.Data))]})
		if p.Data = p.Data[min(n, len(p.Data)):]; p.Data == "" {
			return pieces
		}
	}
}

// text is the whole of the pieces.
func (s *Script) text() string {
	var b strings.Builder
	for _, p := range s.Pieces {
		b.WriteString(p.Data)
	}
	return b.String()
}

// each replaces the data of every piece.
func (s *Script) each(change func(string) string) *Script {
	for i := range s.Pieces {
		s.Pieces[i].Data = change(s.Pieces[i].Data)
	}
	return s
}

// scripted plays a script as the pieces of an answer.
type scripted struct {
	*Script
	last time.Duration
}

func (s *scripted) piece(i int) (piece, bool) {
	n := len(s.Pieces)
	if i < n {
		s.last = max(s.last, s.Pieces[i].At)
		return piece{at: s.Pieces[i].At, data: []byte(s.Pieces[i].Data)}, true
	}
	if s.End != Repeat || n == 0 {
		return piece{}, false
	}
	return piece{at: s.last + time.Duration(i-n+1)*s.Every, data: []byte(s.Pieces[n-1].Data)}, true
}

// answer is the script as what goes back.
func (s *Script) answer() *answer {
	a := &answer{status: s.Status, header: s.Header, kind: eventStream, raw: s.Raw, body: &scripted{Script: s}, end: s.End}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if kind := s.Header.Get("Content-Type"); kind != "" {
		a.kind = kind
	}
	return a
}

// check refuses what can not be played.
func (s *Script) check() error {
	if s.Status != 0 && (s.Status < 200 || s.Status > 599) {
		return fmt.Errorf("status %d is outside 200 to 599", s.Status)
	}
	if s.End == Repeat && (s.Every <= 0 || len(s.Pieces) == 0) {
		return fmt.Errorf("end repeat takes at least one piece and an interval above 0 (every: 10ms)")
	}
	if s.End != Repeat && s.Every != 0 {
		return fmt.Errorf("every: %s has no effect without end: repeat", s.Every)
	}
	return nil
}
