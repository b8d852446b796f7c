package workload

import (
	"strconv"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// Session is a series of requests of one user, each of which is sent after the
// one before it has been answered.
type Session struct {
	Index  int64         // among all sessions of the stream, whichever shard sends them
	Offset time.Duration // when it is due since the start of sending; 0 in a closed loop
	Tenant string        // empty when the workload has none
	Class  string        // priority class, empty when the workload has none
	Model  string        // on the wire, empty for the scenario's one
	Turns  []Turn
}

// Turn is one request of a session.
type Turn struct {
	// Group is the prefix group, NoGroup when the prefix is shared with nobody
	// or there is none. Later turns have no prefix of their own: theirs is what
	// the first one began with.
	Group  int
	Prefix int // tokens of the prefix, part of Input; 0 after the first turn
	// Input is the tokens that this turn adds to the conversation: the whole
	// prompt of a first turn, the new message of a later one.
	Input  int
	Output int // output tokens asked for
	// Think is the time between the end of the turn before and this one. A first
	// turn has one only among users, after the end of the user's session before.
	Think time.Duration
	// CancelAfter is when the user leaves, since the request was sent; 0 is never.
	CancelAfter time.Duration
	Tools       bool // offers tools
	Schema      bool // demands JSON by a schema

	// From a trace, absent otherwise:
	Text   string   // what the user says, in the place of text of length Input
	Hashes []uint64 // ids of the blocks of the prompt, equal where its beginning is
	Body   []byte   // the request's body as recorded
}

// NoGroup marks a request that shares its prefix with nobody.
const NoGroup = -1

// maxTurns bounds sessions: a turn's number fits into 16 bits.
const maxTurns = 1 << 16

// Session returns the k-th session of this shard, k ≥ 0. One that a finite
// stream does not have is due Never and has no turns.
func (s *Stream) Session(k int64) Session {
	i := s.global(k)
	session := Session{Index: i, Offset: s.arrivals.offset(i)}
	if session.Offset == Never {
		return session
	}
	if len(s.options.Recorded) > 0 {
		s.replay(&session)
	} else {
		session.Turns = s.turns(i)
	}
	s.identify(&session)
	for t := range session.Turns {
		s.conduct(&session.Turns[t], i, t)
	}
	return session
}

// turns draws the lengths of a session's requests.
func (s *Stream) turns(i int64) []Turn {
	n := 1
	if s.several {
		n = min(s.turnCount.draw(newRandom(s.options.Seed, forTurns, i)), maxTurns)
	}
	turns := make([]Turn, n)
	for t := range turns {
		turn := Turn{
			Group:  NoGroup,
			Input:  s.input.draw(newTurnRandom(s.options.Seed, forInput, i, t)),
			Output: s.output.draw(newTurnRandom(s.options.Seed, forOutput, i, t)),
		}
		// A prompt shorter than the prefix shares as much as it has, but for
		// one token: equal prompts would be cached whole.
		prefix := 0
		if len(s.groups) > 0 {
			prefix = min(s.workload.Prefix.Tokens, turn.Input-1)
		}
		switch {
		case t > 0: // the message alone, a prompt without its prefix
			turn.Input -= prefix
			turn.Think = s.think.draw(newTurnRandom(s.options.Seed, forThink, i, t))
		case prefix > 0:
			turn.Prefix = prefix
			if !s.options.UniquePrefixes {
				turn.Group = pick(s.groups, newRandom(s.options.Seed, forGroup, i))
			}
		}
		turns[t] = turn
	}
	return turns
}

// identify draws who sends a session to which model, where a trace has not said
// so.
func (s *Stream) identify(session *Session) {
	seed, i := s.options.Seed, session.Index
	if session.Tenant == "" {
		session.Tenant = s.workload.Tenant
	}
	if n := s.workload.Tenants; n > 0 && session.Tenant == "" {
		r := newRandom(seed, forTenant, i)
		session.Tenant = "tenant-" + strconv.Itoa(int(r.uniform()*float64(n))+1)
	}
	if session.Class == "" {
		session.Class = s.classes.draw(newRandom(seed, forClass, i))
	}
	if session.Model == "" {
		session.Model = s.models.draw(newRandom(seed, forModel, i))
	}
}

// conduct draws what is independent of the lengths: whether the user leaves,
// what the request offers and demands, and how long a user thinks before a
// session. What a trace has said stays, and a recorded body says all.
func (s *Stream) conduct(turn *Turn, i int64, t int) {
	seed, w := s.options.Seed, &s.workload
	chance := func(share float64, why purpose) bool {
		if share <= 0 {
			return false
		}
		r := newTurnRandom(seed, why, i, t)
		return r.uniform() < share
	}
	if t == 0 && w.Arrival.Process == profiles.Users {
		turn.Think = s.think.draw(newTurnRandom(seed, forThink, i, t))
	}
	if turn.CancelAfter == 0 && chance(w.Cancel.Fraction, forCancel) {
		turn.CancelAfter = max(1, s.cancelAfter.draw(newTurnRandom(seed, forCancelAfter, i, t)))
	}
	if len(turn.Body) == 0 {
		turn.Tools = turn.Tools || chance(w.Tools, forTools)
		turn.Schema = turn.Schema || chance(w.Schema, forSchema)
	}
}
