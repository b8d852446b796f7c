package main

import (
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
)

func TestProgress(t *testing.T) {
	for _, tc := range []struct {
		name     string
		terminal bool
		term     string
		at       []time.Duration // when something is done
		want     string
	}{
		{"soon over", false, "", []time.Duration{time.Second, 4 * time.Second}, ""},
		{"soon over on a terminal", true, "xterm", []time.Duration{100 * time.Millisecond}, ""},
		{"lines", false, "", []time.Duration{time.Second, 5 * time.Second, 6 * time.Second, 11 * time.Second}, "2 of 4\n4 of 4\n"},
		{"a terminal that can not", true, "dumb", []time.Duration{time.Second, 5 * time.Second}, "2 of 2\n"},
		{"redrawn and cleared", true, "xterm", []time.Duration{250 * time.Millisecond, 300 * time.Millisecond, time.Second}, "\r1 of 3\x1b[K\r3 of 3\x1b[K\r\x1b[K"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			now := time.Time{}
			p := newProgress(&iostreams.IO{Err: &out, ErrTTY: tc.terminal, Env: func(string) string { return tc.term }}, func() time.Time { return now })
			for i, at := range tc.at {
				now = time.Time{}.Add(at)
				p.say("%d of %d", i+1, len(tc.at))
			}
			p.clear()
			if out.String() != tc.want {
				t.Errorf("%q, want %q", out.String(), tc.want)
			}
		})
	}
}
