package mock

import (
	"io"
	"net/http"
	"time"
)

// Script is an answer as the bytes of its body, cut where the network shall cut
// it.
type Script struct {
	Status int         // 0 is 200
	Header http.Header // Content-Type is text/event-stream unless it is here
	Pieces []Piece
	End    End
}

// Piece is what one write sends.
type Piece struct {
	At   time.Duration // when it is sent, since the request arrived; at once when that has passed
	Data string
}

// End is how an answer ends after its last piece.
type End int

const (
	Close End = iota // the HTTP message ends as it should
	Abort            // the connection breaks
	Hang             // nothing more comes until the client leaves
)

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

// play answers a request that arrived at the given time.
func (s *Script) play(w http.ResponseWriter, r *http.Request, arrived time.Time) {
	w.Header().Set("Content-Type", "text/event-stream")
	for name, values := range s.Header {
		w.Header()[name] = values
	}
	if s.Status != 0 {
		w.WriteHeader(s.Status)
	}
	flusher := http.NewResponseController(w)
	for _, piece := range s.Pieces {
		if !wait(r, arrived.Add(piece.At)) {
			return
		}
		if _, err := io.WriteString(w, piece.Data); err != nil {
			return // the client left
		}
		if err := flusher.Flush(); err != nil {
			return
		}
	}
	switch s.End {
	case Abort:
		panic(http.ErrAbortHandler)
	case Hang:
		<-r.Context().Done()
	}
}

// wait returns at the time given; ok is false when the client left first.
func wait(r *http.Request, until time.Time) (ok bool) {
	left := time.Until(until)
	if left <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
