package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
)

// searchFlags turn a plan into a search for one.
type searchFlags struct{ search bool }

func (f *searchFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.search, "search", false, "search accelerators, parallelism, formats and batch limits for the cheapest plan and its rivals; what other flags say stays")
}

// accelerators are those to search among, and whether a search is asked for:
// by --search, by the name all, or by several names.
func (f *searchFlags) accelerators(said string) (names []string, search bool) {
	for name := range strings.SplitSeq(said, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 1 && strings.EqualFold(names[0], "all"):
		return nil, true
	case len(names) > 1:
		return names, true
	}
	return names, f.search
}

// Progress is said once a search has taken quietFor: on a terminal in a line that
// is written anew each redrawEvery, else in lines of which one comes each
// tellEvery, so that logs stay short.
const (
	quietFor    = time.Second
	redrawEvery = 100 * time.Millisecond
	tellEvery   = 5 * time.Second
)

// progress says how far a search is.
type progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	next     time.Time
	drawn    bool
}

func newProgress(s *iostreams.IO, now func() time.Time) *progress {
	p := &progress{w: s.Err, terminal: s.ErrTTY && s.Env("TERM") != "dumb", now: now}
	p.next = now().Add(quietFor)
	if !p.terminal {
		p.next = now().Add(tellEvery)
	}
	return p
}

// tell is called with how much is done, of all.
func (p *progress) tell(done, all int) {
	t := p.now()
	if t.Before(p.next) {
		return
	}
	if !p.terminal {
		p.next = t.Add(tellEvery)
		fmt.Fprintf(p.w, "searching: %d%%\n", done*100/all)
		return
	}
	p.next, p.drawn = t.Add(redrawEvery), true
	fmt.Fprintf(p.w, "\rsearching: %d%%%s", done*100/all, eraseToEnd)
}

// eraseToEnd clears a line from the cursor on (ECMA-48, EL).
const eraseToEnd = "\x1b[K"

// end leaves nothing of the line on the terminal.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.w, "\r"+eraseToEnd)
	}
}

// runSearch searches and writes the result. Ctrl-C ends it with nothing written.
func runSearch(s *iostreams.IO, output *outputFlag, r sizing.SearchRequest) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	if s.Interrupts != nil {
		wg.Go(func() {
			select {
			case <-s.Interrupts():
				cancel(errSearchStopped)
			case <-ctx.Done():
			}
		})
	}
	p := newProgress(s, time.Now)
	result, err := sizing.Explore(ctx, r, p.tell)
	p.end()
	if context.Cause(ctx) == errSearchStopped {
		return hinted(exitInterrupted, errSearchStopped, "name fewer with --accelerator, or say --tp, --weight-dtype or --max-num-seqs")
	}
	if err != nil {
		return usage(err)
	}
	err = output.writeForms(s, result, forms{
		table:    func() error { return reports.WriteSearch(s.Out, result) },
		csv:      func() error { return reports.SearchTable(result).WriteCSV(s.Out) },
		markdown: func() error { return reports.WriteSearchMarkdown(s.Out, result) },
	})
	if err != nil {
		return err
	}
	if !result.Feasible {
		return silent(exitNotHeld)
	}
	return nil
}

var errSearchStopped = errors.New("the search was interrupted")
