package usage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Options of a ledger. Each has a default.
type Options struct {
	Logger   *slog.Logger  // one line when a store fails, one when it is back; nil discards them
	Buffer   int           // records that may wait for the store; DefaultBuffer
	Keep     time.Duration // how long requests are kept; DefaultKeep. Sums are kept for good
	Password string        // of Postgres, instead of one in its URL
}

// Defaults of Options. The buffer is at most about 40 MB when it is full.
const (
	DefaultBuffer = 65_536
	DefaultKeep   = 30 * 24 * time.Hour
)

// Ledger takes records in and brings them to a store. It owns one goroutine, which
// Close ends.
type Ledger struct {
	store  store
	reader Reader // of the same store
	log    *slog.Logger
	keep   time.Duration

	room   int    // records that may wait
	prefix string // of ids: this ledger's own

	mu      sync.Mutex
	pending queue
	writing int // records that have left the queue and are not in the store yet
	serial  uint64
	stats   Stats
	closed  bool

	wake  chan struct{}   // a whole batch is there
	flush chan chan error // wants to be told when all that came before is kept
	stop  context.CancelFunc
	done  chan struct{}
	wrote writer
}

// Stats is how a ledger fares.
type Stats struct {
	Appended int64 // records taken in
	Written  int64 // of them, brought to the store
	Lost     int64 // of them, given up: the buffer was full, or the ledger closed while the store failed
	Waiting  int64 // Appended − Written − Lost
	Failing  bool  // the last attempt to write failed
}

func newLedger(s store, o Options) *Ledger {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Buffer <= 0 {
		o.Buffer = DefaultBuffer
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	l := &Ledger{
		store: s, reader: Reader{s}, log: o.Logger, keep: o.Keep,
		room: o.Buffer,
		// Time first, so that ids rise and an index of them grows at its end.
		prefix: fmt.Sprintf("%011x-%s-", time.Now().UnixMilli(), rand.Text()[:10]),
		wake:   make(chan struct{}, 1),
		flush:  make(chan chan error),
		done:   make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.run(ctx)
	return l
}

// Append takes a record in. It never waits: the record reaches the store within
// a second, or when the store is back. When too many wait already, the record is
// lost, and counted as such. Append may be called from several goroutines.
func (l *Ledger) Append(r *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Appended++
	if l.closed || l.pending.len()+l.writing >= l.room {
		l.stats.Lost++
		return
	}
	l.pending.push(r)
	l.pending.last().id = l.nextID()
	if l.pending.len() == batchSize {
		select {
		case l.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// nextID makes the key of a record. The caller holds mu.
func (l *Ledger) nextID() string {
	l.serial++
	const width = 10 // so that they sort as they rise
	id := append(make([]byte, 0, len(l.prefix)+width), l.prefix...)
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		id = append(id, "0123456789abcdef"[l.serial>>shift&15])
	}
	return string(id)
}

// Stats returns how the ledger fares.
func (l *Ledger) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Waiting = s.Appended - s.Written - s.Lost
	return s
}

var errClosed = errors.New("the usage ledger is closed")

// Flush brings all records to the store that were appended before it. It reports
// why that is not possible at the moment.
func (l *Ledger) Flush(ctx context.Context) error {
	reply := make(chan error, 1)
	select {
	case l.flush <- reply:
	case <-l.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sums adds up what records say. Those that were appended before count, unless
// the store cannot take them at the moment.
func (l *Ledger) Sums(ctx context.Context, q Query) ([]Group, error) {
	_ = l.Flush(ctx) // what cannot be written, the log and the metrics tell; sums of the rest are worth having
	return l.reader.Sums(ctx, q)
}

// Requests calls each for every record from a time until before another that the
// store still has, in the order in which they ended. The record is valid until
// each returns.
func (l *Ledger) Requests(ctx context.Context, from, to time.Time, each func(*Record) error) error {
	_ = l.Flush(ctx) // as in Sums
	return l.reader.Requests(ctx, from, to, each)
}

// Close writes what waits, for at most closePatience, and closes the store. The
// error tells what was lost.
func (l *Ledger) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	l.stop()
	<-l.done
	if !first {
		return nil
	}
	err := l.store.close()
	if s := l.Stats(); s.Lost > 0 {
		err = errors.Join(fmt.Errorf("%d records of usage are lost", s.Lost), err)
	}
	return err
}

// queue is a first-in, first-out list of records.
type queue struct {
	records []Record
	head    int
}

func (q *queue) len() int { return len(q.records) - q.head }

func (q *queue) push(r *Record) {
	if q.head > 0 && len(q.records) == cap(q.records) {
		q.compact()
	}
	q.records = append(q.records, *r)
}

func (q *queue) last() *Record { return &q.records[len(q.records)-1] }

func (q *queue) compact() {
	n := copy(q.records, q.records[q.head:])
	clear(q.records[n:])
	q.records, q.head = q.records[:n], 0
}

// take moves up to n records to the end of into.
func (q *queue) take(into []Record, n int) []Record {
	n = min(n, q.len())
	part := q.records[q.head : q.head+n]
	into = append(into, part...)
	clear(part)
	if q.head += n; q.head == len(q.records) {
		q.records, q.head = q.records[:0], 0
	}
	return into
}
