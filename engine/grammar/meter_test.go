package grammar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// optionals is a schema of an object with n integers, none of which is required.
func optionals(n int) json.RawMessage {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"p%d":{"type":"integer"}`, i)
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(names, ",") + `}}`)
}

// A schema that costs too much is refused before it takes much memory, and one of some
// hundred optional properties is none of those.
func TestWhatCompilingTakesIsBounded(t *testing.T) {
	if _, err := Schema(t.Context(), optionals(600), Options{}); err != nil {
		t.Error(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Schema(t.Context(), optionals(5000), Options{})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "schema is too large: ") {
		t.Errorf("error %v, want that it is too large", err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 150 {
		t.Errorf("%d MiB were allocated", took)
	}
}

// leaving is a context that ends when it has been looked at often enough.
type leaving struct {
	context.Context
	looks int
}

func (l *leaving) Err() error {
	if l.looks--; l.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestCompilingEndsWithItsContext(t *testing.T) {
	l := &leaving{t.Context(), 20}
	if _, err := Schema(l, optionals(5000), Options{}); !errors.Is(err, context.Canceled) || l.looks != -1 {
		t.Errorf("error %v after %d looks at the context, want its own at the first that finds it ended", err, 20-l.looks)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name    string
		compile func() (*Grammar, error)
	}{
		{"a schema", func() (*Grammar, error) { return Schema(ended, json.RawMessage(`{"type":"integer"}`), Options{}) }},
		{"a pattern", func() (*Grammar, error) { return Regex(ended, "a+") }},
		{"a choice", func() (*Grammar, error) { return Choice(ended, []string{"a"}) }},
	} {
		if _, err := c.compile(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want the context's", c.name, err)
		}
	}
}
