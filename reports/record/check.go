package record

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// check reports what can not be right in a record that was read from a file:
// whoever wrote it measured something else.
func (r *Record) check() error {
	switch r.Outcome {
	case OK, Failed, Cancelled, Cut, Dropped:
	default:
		return fmt.Errorf("unknown outcome %q", r.Outcome)
	}
	// Each line holds moments that follow each other. Finished stands apart:
	// the other choices of an answer may go on after it. So do Wrote, since a
	// server may answer before it has read everything, and FirstByte, which may
	// come while the request is being cut.
	for _, line := range [][]moment{
		{{"scheduled_s", r.Scheduled}, {"sent_s", r.Sent}, {"first_s", r.First}, {"first_visible_s", r.FirstVisible}, {"last_s", r.Last}, {"closed_s", r.Closed}},
		{{"sent_s", r.Sent}, {"first_byte_s", r.FirstByte}, {"first_s", r.First}},
		{{"sent_s", r.Sent}, {"wrote_s", r.Wrote}},
		{{"sent_s", r.Sent}, {"finished_s", r.Finished}, {"closed_s", r.Closed}},
	} {
		if err := ascending(line); err != nil {
			return err
		}
	}
	if m, ok := r.Chunks.(*MeasuredChunks); ok && !slices.IsSorted(m.Times) {
		return errors.New("chunks are not in the order of time")
	}
	if chunks := r.Chunks; chunks != nil {
		for at := range chunks.All() {
			if sent, _ := r.Sent.Since(); at < sent {
				return fmt.Errorf("a chunk at %v is before sent_s", at)
			}
			break // the others follow it
		}
	}
	prompt, known := r.Input.Value()
	if cached, ok := r.Cached.Value(); ok && known && cached > prompt {
		return fmt.Errorf("%d of %d prompt tokens were cached", cached, prompt)
	}
	return nil
}

// moment is a Moment with the name that files give it.
type moment struct {
	name string
	at   Moment
}

// ascending checks moments that follow each other, of which some may be absent.
func ascending(line []moment) error {
	var before time.Duration
	last := "the start of the run"
	for _, m := range line {
		at, known := m.at.Since()
		if !known {
			continue
		}
		if at < before {
			return fmt.Errorf("%s is before %s", m.name, last)
		}
		before, last = at, m.name
	}
	return nil
}

// idSet is a set of the ids of requests, which are mostly consecutive: a bit
// each, in pages.
type idSet map[int64]*[64]uint64

// add reports whether the id was not there yet.
func (s idSet) add(id int64) bool {
	page := s[id>>12]
	if page == nil {
		page = new([64]uint64)
		s[id>>12] = page
	}
	word, bit := &page[id>>6&63], uint64(1)<<(id&63)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}
