package cache

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/optional"
)

// Answer is a complete answer to a chat or a completion, in the form in which
// it came. It must not be changed.
type Answer struct {
	Whole  []byte   // the JSON document of an answer that was not streamed
	Events [][]byte // the data of the events of one that was, without [DONE]

	Deployment string // that gave it
	Used       Tokens // when it was made
	Finish     string // the last finish_reason
}

// Tokens are those that an answer took.
type Tokens struct {
	Input     int64
	Cached    optional.Count // of Input, those from the engine's prefix cache
	Output    int64
	Reasoning optional.Count // of Output
	Estimated bool           // the engine reported none
}

// Streamed tells which of the two forms the answer has.
func (a *Answer) Streamed() bool { return a.Whole == nil }

// size is what the answer occupies, roughly.
func (a *Answer) size() int64 {
	n := int64(len(a.Whole)) + answerOverhead
	for _, e := range a.Events {
		n += int64(len(e)) + eventOverhead
	}
	return n
}

const (
	answerOverhead = 512 // the entry itself, its key and its place in the lists
	eventOverhead  = 32  // slice header and allocation
)

// finishes are the reasons that end an answer as the model meant it to end.
// Others (content_filter, abort, error) are the server's, and may be gone next
// time.
var finishes = []string{"stop", "length", "tool_calls", "function_call"}

// Recorder takes an answer down while it passes. The zero value is ready; a nil
// Recorder takes nothing down.
type Recorder struct {
	Choices int64 // finish reasons that make the answer complete

	whole    []byte
	events   [][]byte
	held     int
	finished int64
	finish   string
	spoiled  bool // something says that the answer must not be kept
}

// maxAnswer is the largest answer that is kept, in bytes.
const maxAnswer = 1 << 20

// Event takes down the data of one event; data is copied.
func (r *Recorder) Event(data []byte) {
	if r == nil || r.spoiled {
		return
	}
	if r.held += len(data); r.held > maxAnswer {
		r.Spoil()
		return
	}
	r.events = append(r.events, slices.Clone(data))
	r.read(gjson.ParseBytes(data))
}

// Document takes down a whole answer.
func (r *Recorder) Document(body []byte) {
	if r == nil || r.spoiled {
		return
	}
	if len(body) > maxAnswer {
		r.Spoil()
		return
	}
	r.whole = slices.Clone(body)
	r.read(gjson.ParseBytes(body))
}

// Spoil drops what was taken down, for good.
func (r *Recorder) Spoil() {
	if r != nil {
		r.spoiled, r.whole, r.events = true, nil, nil
	}
}

func (r *Recorder) read(document gjson.Result) {
	if e := document.Get("error"); e.Exists() && e.Type != gjson.Null {
		r.Spoil()
		return
	}
	document.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		reason := choice.Get("finish_reason").Str
		if reason == "" {
			return true
		}
		if !slices.Contains(finishes, reason) {
			r.Spoil()
			return false
		}
		r.finish = reason
		r.finished++
		return true
	})
}

// Answer is what was taken down, or nil unless all choices ended as they should.
func (r *Recorder) Answer() *Answer {
	if r == nil || r.spoiled || r.finished < max(r.Choices, 1) {
		return nil
	}
	return &Answer{Whole: r.whole, Events: r.events, Finish: r.finish}
}
