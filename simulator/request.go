package simulator

import (
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/reports/record"
)

// request is one turn of a session on its way through the cluster.
type request struct {
	id      int64
	stream  int // which of the run's streams
	session *workload.Session
	turn    int
	said    int // tokens of the turns before this one and of their answers
	slot    *slot

	prompt, output int // tokens

	due  time.Duration // when it was to be sent; in a closed loop when it was
	sent time.Duration

	replica  *replica // that serves it, or did last; nil before
	held     bool     // counts as its replica's load
	key      sched.ID // there
	attempts int
	arrives  time.Duration // when the present try comes to its replica
	passage  *passage      // through the gateway; nil when there is none

	pinned *sched.Pinned // its blocks at the prefill replica, while they are sent

	cached   int // prompt tokens that the cache saved; −1 before it was admitted
	since    int // step since which each gives it a token that is not yet counted; unsteady when none
	produced int
	withheld int // tokens that a static batch has not handed out yet
	first    time.Duration
	last     time.Duration
	chunks   record.StepChunks
	orphan   bool // its user has left and nobody was told
	heard    int  // tokens that the user of an orphan has seen
	ended    bool
	why      string // its last try came to nothing, for a person
}

// turnOf is the workload's part of a request.
func (r *request) turnOf() *workload.Turn { return &r.session.Turns[r.turn] }

// hash names the content of the i-th block of prompt and answer. Conversations
// only grow, so that a block of a later turn is that of the turn before it as far
// as it reaches.
func (r *request) hash(i int) kv.Hash { return r.replica.kind.identity(r, i) }

// happen makes a request that is planned to be sent be sent.
func (r *request) happen(s *sim) { s.send(r) }

// leave is the user who goes away.
type leave struct{ r *request }

func (l leave) happen(s *sim) {
	if !l.r.ended {
		s.cancel(l.r)
	}
}
