package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/llmctl/llmctl/reports/record"
)

// maxFPS bounds redraws; more would only cost the client processor time.
const maxFPS = 15

// ErrAborted is returned when the user did not wait for the run to end.
var ErrAborted = errors.New("aborted")

// Run shows snapshots of a run on a terminal until feed is closed, and then
// restores the screen and returns nil. in and out are the terminal; out must not
// be where results go. Pressing q or ctrl+c calls stop, once, which is to end
// the run gently; the view goes on until feed is closed. Pressing it again
// returns ErrAborted at once. If ctx ends first, its error is returned.
//
// Colours follow the terminal, TERM, NO_COLOR and CLICOLOR. Signals are left to
// the caller.
func Run(ctx context.Context, in io.Reader, out io.Writer, feed <-chan record.Live, stop func()) error {
	return run(ctx, in, out, feed, stop)
}

func run(ctx context.Context, in io.Reader, out io.Writer, feed <-chan record.Live, stop func(), options ...tea.ProgramOption) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel() // ends the command that waits for the feed
	m := newModel(next(reading, feed), stop)
	options = append([]tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithFPS(maxFPS), tea.WithoutSignalHandler(),
	}, options...)
	last, err := tea.NewProgram(m, options...).Run()
	switch final, _ := last.(model); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case final.aborted:
		return ErrAborted
	default:
		return nil
	}
}

// liveMsg is a snapshot; endMsg says that there will be no more.
type (
	liveMsg record.Live
	endMsg  struct{}
)

// next is the command that waits for one snapshot.
func next(ctx context.Context, feed <-chan record.Live) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-ctx.Done():
			return endMsg{}
		case live, open := <-feed:
			if !open {
				return endMsg{}
			}
			return liveMsg(live)
		}
	}
}
