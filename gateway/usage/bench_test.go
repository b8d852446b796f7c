package usage

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkAppend is what a request pays for its record.
func BenchmarkAppend(b *testing.B) {
	l := newLedger(&discarding{}, Options{})
	defer func() { _ = l.Close() }()
	r := sample()
	b.ReportAllocs()
	for b.Loop() {
		l.Append(r)
	}
}

// discarding is a store that keeps nothing.
type discarding struct{ fakeStore }

func (*discarding) write(context.Context, []Record) error { return nil }

// BenchmarkSQLite is what the writer pays for a record, in batches of a second's
// worth at 500 requests a second by 500 tenants.
func BenchmarkSQLite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "usage.db")
	s, err := openSQLite(b.Context(), path, true)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.close() }()
	l := newLedger(&discarding{}, Options{})
	defer func() { _ = l.Close() }()
	batch := make([]Record, 500)
	written := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch {
			batch[i] = *sample()
			batch[i].Tenant = "tenant-" + string(rune('a'+i%25)) + string(rune('a'+i/25))
			batch[i].RequestID = "req-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			batch[i].At = noon.Add(time.Duration(written) * 2 * time.Millisecond)
			batch[i].id = l.nextID()
			written++
		}
		if err := s.write(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(written), "ns/record")
	if _, err := s.db.ExecContext(b.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		b.Fatal(err)
	}
	if info, err := os.Stat(path); err == nil {
		b.ReportMetric(float64(info.Size())/float64(written), "B/record")
	}
}
