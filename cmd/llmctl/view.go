package main

import (
	"context"
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

// newView picks the view. titled names the run first, when there are several.
func (b *bench) newView(title string, stop *stopper, titled bool) view {
	mode := b.flags.ui
	if mode == "auto" {
		mode = "plain"
		if b.io.ErrTTY && b.io.InTTY {
			mode = "tui"
		}
	}
	if b.flags.quiet || mode == "none" {
		return view{func(record.Live) {}, func() {}}
	}
	if titled {
		fmt.Fprintln(b.io.Err, title)
	}
	if mode == "tui" {
		return b.liveView(stop)
	}
	return b.plainView()
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

func (b *bench) liveView(stop *stopper) view {
	feed := make(chan record.Live, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := tui.Run(ctx, b.io.In, b.io.Err, feed, stop.stop); err != nil {
			fmt.Fprintf(b.io.Err, "warning: the live view ended: %v\n", err)
		}
	})
	return view{
		show: func(l record.Live) {
			select {
			case feed <- l:
			default: // the screen is behind; the next state replaces this one
			}
		},
		close: func() {
			close(feed)
			wg.Wait()
			cancel()
		},
	}
}
