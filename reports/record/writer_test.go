package record

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// memoryFile is a File of at most limit bytes.
type memoryFile struct {
	mu    sync.Mutex
	data  []byte
	limit int
}

func (f *memoryFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(p), f.limit-len(f.data))
	f.data = append(f.data, p[:n]...)
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = f.data[:size]
	return nil
}

func (f *memoryFile) Seek(offset int64, _ int) (int64, error) { return offset, nil }
func (f *memoryFile) Sync() error                             { return nil }
func (f *memoryFile) Close() error                            { return nil }

func (f *memoryFile) setLimit(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = n
}

func (f *memoryFile) ids(t *testing.T) (ids []int64, truncated bool) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	truncated, err := ReadRecords(bytes.NewReader(f.data), func(r *Record) bool {
		ids = append(ids, r.ID)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, truncated
}

func add(t *testing.T, w *Writer, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		if err := w.Add(&Record{ID: id, Outcome: OK}); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

func TestWriterFlushesEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &memoryFile{limit: math.MaxInt}
		w := NewWriter(file)
		add(t, w, 1, 2)
		time.Sleep(time.Second)
		synctest.Wait()
		if got, _ := file.ids(t); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("after a second the file holds %v, want [1 2]", got)
		}
		add(t, w, 3)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, _ := file.ids(t); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("after closing the file holds %v, want [1 2 3]", got)
		}
		if err := w.Add(&Record{}); err == nil {
			t.Error("adding to a closed writer succeeded")
		}
		if err := w.Close(); err != nil {
			t.Errorf("closing twice: %v", err)
		}
	})
}

// TestFlushBySizeKnowsNoClock: the same records make the same bytes, however long
// they take to come.
func TestFlushBySizeKnowsNoClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bytesOf := func(pause time.Duration) []byte {
			file := &memoryFile{limit: math.MaxInt}
			w := NewWriter(file)
			w.FlushBySize()
			const records = flushAt * 3 / 2 / 1000
			for id := range int64(records) {
				if err := w.Add(&Record{ID: id, Outcome: OK, RequestID: strings.Repeat("r", 1000)}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(pause)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got, _ := file.ids(t); len(got) != records {
				t.Errorf("the file holds %d records of %d", len(got), records)
			}
			return file.data
		}
		if fast, slow := bytesOf(0), bytesOf(time.Minute); !bytes.Equal(fast, slow) {
			t.Errorf("%d bytes at once, others when they take long", len(fast))
		}
	})
}

func TestFullDiskLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &memoryFile{limit: math.MaxInt}
		w := NewWriter(file)
		add(t, w, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		file.setLimit(len(file.data) + 5) // the next frame fits in part
		add(t, w, 2)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := w.Err(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error = %v, want no space", err)
		}
		if got, truncated := file.ids(t); truncated || !slices.Equal(got, []int64{1}) {
			t.Errorf("the full file holds %v (truncated %v), want [1]", got, truncated)
		}
		add(t, w, 3)
		file.setLimit(math.MaxInt) // somebody made room
		time.Sleep(time.Second)
		synctest.Wait()
		if err := w.Err(); err != nil {
			t.Errorf("error after room was made: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, _ := file.ids(t); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("the file holds %v, want [1 2 3]", got)
		}
	})
}

func TestCloseTellsOfAFullDisk(t *testing.T) {
	w := NewWriter(&memoryFile{})
	add(t, w, 1)
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "wait in memory") {
		t.Errorf("error = %v, want no space and what is lost", err)
	}
}

func TestWriterIsConcurrent(t *testing.T) {
	file := &memoryFile{limit: math.MaxInt}
	w := NewWriter(file)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				if err := w.Add(&Record{ID: int64(g*200 + i), Outcome: OK, Detail: strings.Repeat("x", 5000)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ids, _ := file.ids(t)
	slices.Sort(ids)
	for i, id := range ids {
		if id != int64(i) {
			t.Fatalf("record %d has id %d", i, id)
		}
	}
	if len(ids) != 1600 {
		t.Errorf("file holds %d records, want 1600", len(ids))
	}
}

func BenchmarkWriterAdd(b *testing.B) {
	w := NewWriter(&memoryFile{limit: math.MaxInt})
	r := benchRecord()
	b.ReportAllocs()
	for b.Loop() {
		w.Add(r) //nolint:errcheck // memory
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkReadRecords(b *testing.B) {
	file := &memoryFile{limit: math.MaxInt}
	w := NewWriter(file)
	const n = 10_000
	for range n {
		w.Add(benchRecord()) //nolint:errcheck // memory
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file.data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadRecords(bytes.NewReader(file.data), func(*Record) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
}
