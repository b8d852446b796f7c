package simulator

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

func TestTraceIsBounded(t *testing.T) {
	var text bytes.Buffer
	trace := NewTraceFile(&text)
	trace.limit = 1000
	for i := range 500 {
		trace.Step(time.Duration(i), 1, 0, &sched.Batch{}, sched.Stats{})
	}
	if err := trace.Close(); err != nil {
		t.Fatal(err)
	}
	var events []any
	if err := json.Unmarshal(text.Bytes(), &events); err != nil {
		t.Fatal(err)
	}
	if want := int64(3*500 + 2 - 1000); len(events) != 1000 || trace.Dropped() != want {
		t.Errorf("%d events and %d dropped, want 1000 and %d", len(events), trace.Dropped(), want)
	}
}
