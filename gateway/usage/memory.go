package usage

import (
	"context"
	"errors"
	"sync"
	"time"
)

// memory is a store that ends with the process: sums by the day, and no requests.
type memory struct {
	mu   sync.Mutex
	bins map[bin]*Sums // hour is the first of the day
}

func newMemory() *memory { return &memory{bins: map[bin]*Sums{}} }

func (m *memory) write(_ context.Context, batch []Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range batch {
		b := binOf(&batch[i])
		b.hour = b.day() * 24
		if m.bins[b] == nil {
			m.bins[b] = &Sums{}
		}
		m.bins[b].take(&batch[i])
	}
	return nil
}

func (b bin) day() int64 { return b.hour / 24 }

// keptDays is how many days' sums stay beyond the time that requests are kept: a
// budget's month has to be whole.
const keptDays = 32

func (m *memory) prune(_ context.Context, before time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest := hourOf(before.AddDate(0, 0, -keptDays))
	for b := range m.bins {
		if b.hour < oldest {
			delete(m.bins, b)
		}
	}
	return false, nil
}

var errWholeDays = errors.New("without a store, sums are kept by the day of UTC only")

func (m *memory) sums(_ context.Context, q Query) ([]row, error) {
	for _, t := range []time.Time{q.From, q.To} {
		if hourOf(t)%24 != 0 {
			return nil, errWholeDays
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []row
	for b, sums := range m.bins {
		if b.hour < hourOf(q.From) || b.hour >= hourOf(q.To) || !b.matches(q.Where) {
			continue
		}
		r := row{saved: b.saved, sums: *sums}
		for _, d := range q.By {
			if d == Hour {
				return nil, errWholeDays
			}
			r.values = append(r.values, b.value(d))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b bin) matches(where map[Dimension]string) bool {
	for d, value := range where {
		if b.value(d) != value {
			return false
		}
	}
	return true
}

func (b bin) value(d Dimension) string {
	switch d {
	case Tenant:
		return b.tenant
	case Key:
		return b.key
	case Alias:
		return b.alias
	case Provider:
		return b.provider
	case Model:
		return b.model
	case Deployment:
		return b.provider + "/" + b.model
	case Arm:
		return b.arm
	case Class:
		return b.class
	}
	return d.text(b.day())
}

func (m *memory) requests(context.Context, time.Time, time.Time, func(*Record) error) error {
	return errors.New("without a store, no requests are kept")
}

func (m *memory) close() error { return nil }
