package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// Options are what a stream needs besides the description of the workload.
type Options struct {
	Seed uint64 // of arrivals, lengths and all other choices
	Salt string // of texts alone: another salt, other texts
	// Words are what texts are made of, separated by single spaces. They may
	// be absent when no text is asked for.
	Words []string
	// UniquePrefixes gives each request a prefix of its own where the workload
	// would share one. Lengths and arrivals stay exactly the same, which makes
	// it the other half of the shared-prefix experiment.
	UniquePrefixes bool
	// Recorded are the sessions of a trace, in order of Offset; they take the
	// place of those that the workload would draw.
	Recorded []Session
	// Shard i of Shards sends every Shards-th session of the stream, beginning
	// with the i-th, i from 0; no Shards are one.
	Shard, Shards int
}

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
	Group  int // prefix group, NoGroup when the prefix is shared with nobody
	Prefix int // tokens of the prefix, part of Input; 0 after the first turn
	// Input is the tokens that this turn adds to the conversation: the whole
	// prompt of a first turn, the new message of a later one.
	Input  int
	Output int           // output tokens asked for
	Think  time.Duration // between the end of the turn before and this one
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

// Stream is a deterministic sequence of sessions. Its methods may be called
// from any goroutine.
type Stream struct {
	workload profiles.Workload
	options  Options
	arrivals arrivals
	input    lengths
	output   lengths
	groups   []float64 // cumulative share of each prefix group
	classes  []string
	shares   []float64 // cumulative share of each class
	textSeed uint64

	mu       sync.Mutex
	prefixes map[int]text // by group
}

// New checks the workload and returns its stream.
func New(w profiles.Workload, o Options) (*Stream, error) {
	s := &Stream{workload: w, options: o, textSeed: o.Seed ^ hash(o.Salt), prefixes: map[int]text{}}
	var err error
	if s.arrivals, err = newArrivals(w.Arrival, o.Seed, o.Recorded); err != nil {
		return nil, err
	}
	if len(o.Recorded) > 0 {
		return s, nil
	}
	if s.input, err = newLengths("input", w.Input); err != nil {
		return nil, err
	}
	if s.output, err = newLengths("output", w.Output); err != nil {
		return nil, err
	}
	if w.Prefix.Groups < 0 || w.Prefix.Tokens < 0 || !(w.Prefix.Popularity >= 0) {
		return nil, fmt.Errorf("prefix with %d groups of %d tokens and popularity %g, expected none below 0", w.Prefix.Groups, w.Prefix.Tokens, w.Prefix.Popularity)
	}
	if w.Tenants < 0 {
		return nil, fmt.Errorf("%d tenants, expected none below 0", w.Tenants)
	}
	s.groups = zipf(w.Prefix.Groups, w.Prefix.Popularity)
	s.classes = slices.Sorted(maps.Keys(w.Classes))
	for _, class := range s.classes {
		share := w.Classes[class]
		if !(share > 0) || math.IsInf(share, 0) {
			return nil, fmt.Errorf("class %s has a share of %g, expected more than 0", class, share)
		}
		s.shares = append(s.shares, share)
	}
	s.shares = cumulative(s.shares)
	return s, nil
}

// Workload is what the stream was made of.
func (s *Stream) Workload() profiles.Workload { return s.workload }

// Closed returns how many requests a closed loop keeps in flight; ok is false
// when the loop is open.
func (s *Stream) Closed() (concurrency int, ok bool) {
	return s.workload.Arrival.Concurrency, s.workload.Arrival.Process == profiles.Closed
}

// Users returns how many users a closed loop of users has; ok is false when the
// loop is another one.
func (s *Stream) Users() (n int, ok bool) {
	return s.workload.Arrival.Count, s.workload.Arrival.Process == profiles.Users
}

// RampUp is the time over which the requests in flight of a closed loop, or its
// users, grow from 1 to their number; 0 is at once.
func (s *Stream) RampUp() time.Duration { return s.workload.Arrival.RampUp }

// Len returns the number of sessions that this shard sends; finite is false when
// they never end.
func (s *Stream) Len() (n int64, finite bool) {
	if len(s.options.Recorded) == 0 {
		return 0, false
	}
	shard, shards := s.shard()
	return max(0, (int64(len(s.options.Recorded))-shard+shards-1)/shards), true
}

// shard is which part of the stream this is, and of how many.
func (s *Stream) shard() (i, n int64) { return int64(s.options.Shard), int64(max(1, s.options.Shards)) }

// Shares reports whether requests share prefixes.
func (s *Stream) Shares() bool {
	return !s.options.UniquePrefixes && s.workload.Prefix.Groups > 0 && s.workload.Prefix.Tokens > 0
}

// Offset is when session i of this shard is due since the start of sending. It
// is 0 for all sessions of a closed loop.
func (s *Stream) Offset(i int64) time.Duration {
	shard, shards := s.shard()
	return s.arrivals.Offset(i*shards + shard)
}

// Session returns session i of this shard, i ≥ 0.
func (s *Stream) Session(i int64) Session {
	offset := s.Offset(i)
	shard, shards := s.shard()
	i = i*shards + shard
	if len(s.options.Recorded) > 0 {
		session := s.options.Recorded[i]
		session.Index, session.Offset = i, offset
		return session
	}
	session := Session{Index: i, Offset: offset}
	seed := s.options.Seed
	if n := s.workload.Tenants; n > 0 {
		r := newRandom(seed, forTenant, i)
		tenant := int(r.uniform() * float64(n))
		session.Tenant = "tenant-" + strconv.Itoa(tenant+1)
	}
	if len(s.classes) > 0 {
		session.Class = s.classes[pick(s.shares, newRandom(seed, forClass, i))]
	}
	turn := Turn{
		Group:  NoGroup,
		Input:  s.input.draw(newRandom(seed, forInput, i)),
		Output: s.output.draw(newRandom(seed, forOutput, i)),
	}
	if len(s.groups) > 0 {
		// A prompt shorter than the prefix shares as much as it has, but for
		// one token: equal prompts would be cached whole.
		turn.Prefix = min(s.workload.Prefix.Tokens, turn.Input-1)
		if turn.Prefix > 0 && !s.options.UniquePrefixes {
			turn.Group = pick(s.groups, newRandom(seed, forGroup, i))
		}
	}
	session.Turns = []Turn{turn}
	return session
}

// zipf returns the cumulative shares of n groups where the k-th most popular
// one has a share proportional to 1/k^exponent.
func zipf(n int, exponent float64) []float64 {
	weights := make([]float64, n)
	for k := range weights {
		weights[k] = math.Pow(float64(k+1), -exponent)
	}
	return cumulative(weights)
}

// cumulative turns weights into cumulative shares that end in 1.
func cumulative(weights []float64) []float64 {
	total := 0.0
	for i, w := range weights {
		total += w
		weights[i] = total
	}
	for i := range weights {
		weights[i] /= total
	}
	return weights
}

// pick draws an index by the cumulative shares.
func pick(shares []float64, r random) int {
	return min(sort.SearchFloat64s(shares, r.uniform()), len(shares)-1)
}
