package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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

// progress is how the run is shown: tui, plain or none.
func (b *bench) progress() string {
	switch {
	case b.flags.quiet:
		return "none"
	case b.flags.ui != "auto":
		return b.flags.ui
	case b.io.ErrTTY && b.io.InTTY:
		return "tui"
	}
	return "plain"
}

// newView shows a run. Its title, if any, tells it from others of one bench.
func (b *bench) newView(title string, stop *stopper) view {
	if b.shared != nil {
		return *b.shared
	}
	switch b.progress() {
	case "tui":
		return b.liveView(title, stop)
	case "plain":
		if title != "" {
			fmt.Fprintln(b.io.Err, title)
		}
		return b.plainView()
	}
	return view{func(record.Live) {}, func() {}}
}

func (b *bench) plainView() view {
	last := -plainInterval
	return view{
		show: func(l record.Live) {
			if l.Elapsed-last >= plainInterval {
				last = l.Elapsed
				_ = reports.WriteLive(b.io.Err, l) // progress that nobody can read is no reason to end
			}
		},
		close: func() {},
	}
}

func (b *bench) liveView(title string, stop *stopper) view {
	feed := make(chan record.Live, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		switch err := tui.Run(context.Background(), b.io.In, b.io.Err, feed, stop.stop); {
		case errors.Is(err, tui.ErrAborted):
			stop.abort()
		case err != nil:
			fmt.Fprintf(b.io.Err, "warning: the live view ended: %v\n", err)
		}
	})
	return view{
		show: func(l record.Live) {
			l.Title = title
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
