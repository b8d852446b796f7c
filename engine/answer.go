package engine

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// live is a request that is being served. The loop owns it, its Stream excepted.
type live struct {
	id      sched.ID // that of the first answer; the others follow
	request Request
	answers []*answer
	left    int // answers that have not ended
	stream  *Stream
	forget  func() bool // stops watching the client's context
	ends    []int32     // tokens that may not come before min_tokens
	arrival time.Duration
	started bool
	longest int // output tokens of the longest answer that has ended
}

// answer is one of the N texts that continue a request's prompt. The first one's
// sequence computes the prompt; the others exist for the scheduler from its first
// token on.
type answer struct {
	of       *live
	id       sched.ID
	index    int
	tokens   []int32 // prompt and output
	sequence model.Sequence
	copies   [1]model.Copy
	chain    chain
	text     text
	event    Event // what the stream has not heard yet
	told     int   // of tokens, those whose events were sent
	ended    bool

	drafts []int32   // proposed for the next step
	window []int32   // tokens of a step with drafts
	grams  *proposer // nil: no proposals from the text itself

	ran         int           // tokens that were computed at some time
	scored      int           // prompt tokens before the first without a log-probability
	admitted    time.Duration // last start before the first token; −1 before
	first       time.Duration // first output token; −1 before
	last        time.Duration
	preemptions int
}

func (e *Engine) newLive(id sched.ID, r Request, now time.Duration) *live {
	l := &live{id: id, request: r, arrival: now, left: r.answers()}
	if r.MinTokens > 0 {
		l.ends = append(append(l.ends, e.shape.EOS...), r.StopTokens...)
	}
	for i := range l.left {
		l.answers = append(l.answers, e.newAnswer(l, i))
	}
	return l
}

func (e *Engine) newAnswer(l *live, index int) *answer {
	r := &l.request
	a := &answer{
		of: l, id: l.id + sched.ID(index), index: index, admitted: -1, first: -1, told: len(r.Tokens),
		tokens: append(make([]int32, 0, len(r.Tokens)+min(r.MaxTokens, 1024)), r.Tokens...),
		chain:  chain{size: e.config.BlockSize, salt: r.CacheSalt},
		text:   text{stops: r.Stop, keep: r.KeepStop, decoder: e.config.Tokenizer.Decoder(false)},
		event:  Event{Index: index, Stopped: Stopped{Token: -1}},
	}
	if r.Specials {
		a.text.names = e.config.Tokenizer
	}
	q := &a.sequence
	q.Sampling, q.Logprobs, q.Top, q.TopScore = r.Sampling, r.Logprobs, r.TopLogprobs, r.TopPromptLogprobs
	if r.Seeded {
		q.Sampling.Seed += uint64(index)
	} else {
		q.Sampling.Seed = e.config.Seed + uint64(a.id)
	}
	if q.Sampling.Penalized() {
		q.History = model.NewHistory(r.Tokens, nil)
	}
	if r.Guide != nil {
		q.Guide = r.Guide()
	}
	if s := e.config.Speculate; s.Method == NGram {
		a.grams = newProposer(s.NgramMin, s.NgramMax)
	}
	return a
}

// hash is the scheduler's view of the answer's content.
func (a *answer) hash(i int) kv.Hash { return a.chain.at(a.tokens, i) }

// outputs is how many tokens have been sampled.
func (a *answer) outputs() int { return len(a.tokens) - len(a.of.request.Tokens) }

// needs is what the scheduler has to know of an answer.
func (a *answer) needs() *sched.Request {
	r := &a.of.request
	return &sched.Request{
		ID: a.id, Prompt: len(r.Tokens), MaxTokens: r.MaxTokens, Priority: r.Priority, Arrival: a.of.arrival,
		Hash: a.hash, SkipCacheRead: r.PromptLogprobs,
	}
}

// publish hands out the pending event, unless it carries no text yet: its tokens
// then go with the next one that does.
func (a *answer) publish() {
	e := &a.event
	if e.Text == "" && e.Finish == sched.Running {
		return
	}
	e.IDs = a.tokens[a.told:len(a.tokens):len(a.tokens)]
	a.told = len(a.tokens)
	a.of.stream.put(*e)
	e.Text, e.Tokens, e.IDs, e.Logprobs, e.Prompt = "", 0, nil, nil, nil
}
