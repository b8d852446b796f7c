package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/tui"
)

// plainInterval is the time between lines of progress off a terminal.
const plainInterval = time.Second

// view shows a run in progress on standard error: as a live screen, as lines,
// or not at all.
type view struct {
	show  func(record.Live)
	close func()
}

// screen is where and how runs in progress are shown.
type screen struct {
	io    *iostreams.IO
	ui    string // auto, tui, plain or none
	quiet bool
}

// kind is how a run is shown: tui, plain or none.
func (s screen) kind() string {
	switch {
	case s.quiet:
		return "none"
	case s.ui != "auto":
		return s.ui
	case s.io.ErrTTY && s.io.InTTY:
		return "tui"
	}
	return "plain"
}

// check refuses a way that there is not.
func (s screen) check() error {
	if ways := []string{"auto", "tui", "plain", "none"}; !slices.Contains(ways, s.ui) {
		return fmt.Errorf("--ui: unknown choice %q, expected one of %s", s.ui, strings.Join(ways, ", "))
	}
	if s.quiet && s.ui != "auto" && s.ui != "none" {
		return fmt.Errorf("--quiet shows no progress and --ui %s shows it; give one of them", s.ui)
	}
	return nil
}

func (b *bench) screen() screen { return screen{b.io, b.flags.ui, b.flags.quiet} }

// progress is how the runs of the bench are shown.
func (b *bench) progress() string { return b.screen().kind() }

// newView shows a run. Its title, if any, tells it from others of one bench.
func (b *bench) newView(title string, stop *stopper) view {
	if b.shared != nil {
		return *b.shared
	}
	return b.screen().view(title, stop)
}

// view shows one run.
func (s screen) view(title string, stop *stopper) view {
	switch s.kind() {
	case "tui":
		return s.liveView(title, stop)
	case "plain":
		if title != "" {
			fmt.Fprintln(s.io.Err, title)
		}
		return s.plainView()
	}
	return view{func(record.Live) {}, func() {}}
}

func (s screen) plainView() view {
	last := -plainInterval
	return view{
		show: func(l record.Live) {
			if l.Elapsed-last >= plainInterval {
				last = l.Elapsed
				_ = reports.WriteLive(s.io.Err, l) // progress that nobody can read is no reason to end
			}
		},
		close: func() {},
	}
}

func (s screen) liveView(title string, stop *stopper) view {
	feed := make(chan record.Live, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		switch err := tui.Run(context.Background(), s.io.In, s.io.Err, feed, stop.stop); {
		case errors.Is(err, tui.ErrAborted):
			stop.abort()
		case err != nil:
			fmt.Fprintf(s.io.Err, "warning: the live view ended: %v\n", err)
		}
	})
	return view{
		show: func(l record.Live) {
			l.Title = cmp.Or(l.Title, title)
			select {
			case feed <- l:
			default: // the screen is behind; the next state replaces this one
			}
		},
		close: func() {
			close(feed)
			wg.Wait()
		},
	}
}
