package main

import (
	"context"
	"errors"
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

// runSearch searches and writes the result, and tells how far it is unless quiet. Ctrl-C ends it with nothing written.
func runSearch(s *iostreams.IO, output *outputFlag, quiet bool, r sizing.SearchRequest) error {
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
	result, err := sizing.Explore(ctx, r, func(done, all int) {
		if !quiet {
			p.say("searching: %d%%", done*100/all)
		}
	})
	p.clear()
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
