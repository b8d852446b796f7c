package engine

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// Event is a piece of a request's output.
type Event struct {
	Index  int           // which of the N answers
	Text   string        // whole UTF-8 characters; may be empty only at the end
	Tokens int           // output tokens that came with it
	Output int           // output tokens of this answer so far
	Cached int           // prompt tokens that the prefix cache saved
	Queued time.Duration // from the request's arrival to its first start
	Finish sched.FinishReason

	IDs      []int32         // the tokens that came with it
	Logprobs []model.Logprob // of each of them, where the request asked
	Prompt   []model.Logprob // of the prompt's tokens, the first of which has none; in the first event
	Stopped  Stopped         // by what, where Finish is Stop
	Times    Times           // at the end
}

// Stopped says what ended an answer: a stop string, a stop token, or, where both are
// absent, the model's end of sequence.
type Stopped struct {
	Text  string
	Token int32 // −1: none
}

// Times are moments of a request on the engine's clock.
type Times struct {
	Arrival, Admitted, First, Last time.Duration
	Preemptions                    int
}

// Stream delivers the events of one request. Events wait in it until they are
// read, at most one per output token, so a slow reader never holds up the
// engine.
type Stream struct {
	mu    sync.Mutex
	queue []Event
	head  int
	left  int // answers that have not ended
	ready chan struct{}
	leave func()
}

func newStream(answers int, leave func()) *Stream {
	return &Stream{left: answers, ready: make(chan struct{}, 1), leave: leave}
}

// Leave aborts the request, unless it has ended, and may be called more than
// once. When it returns the engine knows, so that the request is in no step that
// begins later. The end of the context given to Submit does the same, at some
// time soon.
func (s *Stream) Leave() {
	s.mu.Lock()
	ended := s.left == 0
	s.mu.Unlock()
	if !ended {
		s.leave()
	}
}

// Next returns the next event, waiting for it if need be. The last one of each answer
// has a Finish; after that of the last answer Next returns io.EOF. If ctx ends first its cause is returned;
// the request itself goes on until Leave or the end of Submit's context.
func (s *Stream) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok, ended := s.take(); ok {
			return e, nil
		} else if ended {
			return Event{}, io.EOF
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

func (s *Stream) take() (e Event, ok, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.queue) {
		return Event{}, false, s.left == 0
	}
	e = s.queue[s.head]
	s.head++
	if s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
	return e, true, false
}

func (s *Stream) put(e Event) {
	s.mu.Lock()
	s.queue = append(s.queue, e)
	if e.Finish != sched.Running {
		s.left--
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default: // a wake-up is already pending
	}
}
