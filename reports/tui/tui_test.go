package tui

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/reports/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// snapshot is the i-th of a run of 60 snapshots that slowly saturates.
func snapshot(i int) record.Live {
	x := float64(i)
	wave := 1 + math.Sin(x/5)/4
	l := record.Live{
		Title: "bench of builtin at http://127.0.0.1:8080/v1", Phase: "measuring",
		Elapsed: time.Duration(i) * time.Second / 2, Total: 40 * time.Second,
		Scheduled: 4 * i, Sent: 4 * i, InFlight: 3 + i/6, OK: 4*i - 3 - i/6,
		OfferedRPS: 8 * wave, CompletedRPS: 7.5 * wave, OutputTokensPerS: 900 * wave,
		TTFT: record.LivePercentiles{N: 40, P50: time.Duration(40+i) * time.Millisecond, P99: time.Duration(90+3*i) * time.Millisecond},
		TPOT: record.LivePercentiles{N: 40, P50: 12 * time.Millisecond, P99: time.Duration(14+i/10) * time.Millisecond},
		Lag:  record.LivePercentiles{N: 40, P50: 100 * time.Microsecond, P99: 400 * time.Microsecond}, Failures: map[record.Failure]int{},
		Server: &record.ServerSample{Running: 3 + x/6, Waiting: max(0, x-30), KVUsage: 0.1 + x/100},
	}
	if i > 40 {
		l.Failed, l.Failures = i-40, map[record.Failure]int{record.HTTPFailure(503): i - 42, record.Truncated: 2}
	}
	if i < 3 {
		l.TTFT, l.TPOT, l.Lag = record.LivePercentiles{}, record.LivePercentiles{}, record.LivePercentiles{}
	}
	return l
}

// closedLoop is the i-th snapshot of a closed loop that drains at its end.
func closedLoop(i int) record.Live {
	l := snapshot(i)
	l.ClosedLoop, l.OfferedRPS, l.Lag = true, 0, record.LivePercentiles{}
	if l.Total = 25 * time.Second; l.Elapsed > l.Total {
		l.Phase = record.Draining
	}
	return l
}

// searching is the i-th snapshot of a run of a search for the limit.
func searching(i int) record.Live {
	l := snapshot(i)
	l.Load = 6
	l.Curve = []record.LivePoint{{Load: 1, Goodput: 1, Holds: true}, {Load: 2, Goodput: 2, Holds: true}, {Load: 4, Goodput: 3.9, Holds: true},
		{Load: 5.66, Goodput: 5.5, Holds: true}, {Load: 8, Goodput: 1.2}}
	return l
}

// started is a search whose first run has just begun.
func started(i int) record.Live {
	l := snapshot(i)
	l.Load = 1
	return l
}

func at(width, height, snapshots int, of func(int) record.Live) model {
	var m tea.Model = newModel(func() tea.Msg { return nil }, func() {})
	m, _ = m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	for i := range snapshots {
		m, _ = m.Update(liveMsg(of(i)))
	}
	return m.(model)
}

func TestFrames(t *testing.T) {
	for _, tc := range []struct {
		name                     string
		width, height, snapshots int
		of                       func(int) record.Live
	}{
		{"80x24", 80, 24, 60, snapshot},
		{"120x40", 120, 40, 60, snapshot},
		{"200x60", 200, 60, 60, snapshot},
		{"start-80x24", 80, 24, 0, snapshot},
		{"small-40x10", 40, 10, 60, snapshot},
		{"closed-80x24", 80, 24, 60, closedLoop},
		{"closed-120x40", 120, 40, 60, closedLoop},
		{"searching-80x24", 80, 24, 60, searching},
		{"searching-120x40", 120, 40, 60, searching},
		{"searching-first-80x24", 80, 24, 1, started},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ansi.Strip(at(tc.width, tc.height, tc.snapshots, tc.of).frame()) + "\n"
			path := filepath.Join("testdata", tc.name+".txt")
			if *update {
				if err := errors.Join(os.MkdirAll("testdata", 0o777), os.WriteFile(path, []byte(got), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got), rewrite with -update:\n%s", diff)
			}
		})
	}
}

// TestNextRunOfASweep: the charts of a run do not go on in the next one.
func TestNextRunOfASweep(t *testing.T) {
	m := at(80, 24, 60, searching)
	next, _ := m.Update(liveMsg(searching(1)))
	if n := len(next.(model).charts.tokens.points); n != 1 {
		t.Errorf("%d points after the first snapshot of the next run", n)
	}
}

func TestFrameFitsAnyTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 250).Draw(t, "width"), rapid.IntRange(1, 80).Draw(t, "height")
		of := rapid.SampledFrom([]func(int) record.Live{snapshot, closedLoop, searching}).Draw(t, "of")
		lines := strings.Split(at(width, height, rapid.IntRange(0, 20).Draw(t, "snapshots"), of).frame(), "\n")
		if len(lines) > height {
			t.Fatalf("%d lines on a terminal of %d", len(lines), height)
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > width {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
	})
}

func TestSeriesKeepsTheWholeRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10*maxPoints).Draw(t, "n")
		var s series
		for i := range n {
			s.push(float64(i))
		}
		if len(s.points) >= maxPoints {
			t.Fatalf("%d points", len(s.points))
		}
		if len(s.points) > 0 {
			// Points are means of s.per snapshots, in order from the first.
			if want := float64(s.per-1) / 2; s.points[0] != want {
				t.Fatalf("first point %v, want %v", s.points[0], want)
			}
			if end := len(s.points) * s.per; end > n || n-end >= s.per {
				t.Fatalf("%d points of %d stand for %d snapshots", len(s.points), s.per, n)
			}
		}
		if s.last != float64(n-1) || s.high != float64(n-1) {
			t.Fatalf("last %v, high %v, want %v", s.last, s.high, n-1)
		}
	})
}

func TestDraw(t *testing.T) {
	var s series
	for _, v := range []float64{0, 1, math.NaN(), 4, 8} {
		s.push(v)
	}
	if diff := cmp.Diff([]string{"▁▁ ▄█"}, s.draw(10, 1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"    █", "▁▂ ██"}, s.draw(10, 2)); diff != "" {
		t.Error(diff)
	}
	if got := s.draw(2, 1)[0]; got != "▁█" { // means of 0, 1 and of 4, 8
		t.Errorf("squeezed = %q", got)
	}
}

// start runs the view on a terminal of 80×24 whose input is keys.
func start(ctx context.Context, keys io.Reader, out io.Writer, feed <-chan record.Live, stop func()) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, keys, out, feed, stop, tea.WithWindowSize(80, 24), tea.WithColorProfile(colorprofile.ANSI))
	}()
	return done
}

func TestRunUntilTheFeedEnds(t *testing.T) {
	feed := make(chan record.Live)
	var out bytes.Buffer
	done := start(t.Context(), strings.NewReader(""), &out, feed, func() { t.Error("stopped") })
	for i := range 5 {
		feed <- snapshot(i)
	}
	close(feed)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\x1b[?1049l") {
		t.Error("the screen was not restored")
	}
}

func TestFirstKeyStopsSecondAborts(t *testing.T) {
	for _, key := range []string{"q", "\x03"} {
		t.Run(fmt.Sprintf("%q", key), func(t *testing.T) {
			keys, press := io.Pipe()
			feed := make(chan record.Live)
			stopped := make(chan struct{})
			done := start(t.Context(), keys, io.Discard, feed, func() { close(stopped) })
			feed <- snapshot(1)
			press.Write([]byte(key)) //nolint:errcheck // a pipe
			<-stopped
			feed <- snapshot(2)      // the view goes on while the run ends
			press.Write([]byte(key)) //nolint:errcheck // a pipe
			if err := <-done; !errors.Is(err, ErrAborted) {
				t.Errorf("error = %v, want %v", err, ErrAborted)
			}
			press.Close() //nolint:errcheck // a pipe
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	feed := make(chan record.Live)
	done := start(ctx, strings.NewReader(""), io.Discard, feed, func() {})
	feed <- snapshot(1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

func TestNoColor(t *testing.T) {
	for _, tc := range []struct {
		env   string
		color bool
	}{{"NO_COLOR=1", false}, {"NO_COLOR=", true}} {
		feed := make(chan record.Live)
		var out bytes.Buffer
		done := make(chan error, 1)
		go func() {
			done <- run(t.Context(), strings.NewReader(""), &out, feed, func() {}, tea.WithWindowSize(80, 24),
				tea.WithEnvironment([]string{"TERM=xterm-256color", "CLICOLOR_FORCE=1", "TTY_FORCE=1", tc.env}))
		}()
		for i := range 60 {
			feed <- snapshot(i)
		}
		close(feed)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "\x1b[36m"); got != tc.color {
			t.Errorf("%s: colours %v, want %v", tc.env, got, tc.color)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	m := at(120, 40, 60, snapshot)
	b.ReportAllocs()
	for b.Loop() {
		m.frame()
	}
}
