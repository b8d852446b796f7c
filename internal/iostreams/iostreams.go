package iostreams

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// IO is everything a command may touch of the process that it runs in. Tests
// build their own.
type IO struct {
	In  io.Reader
	Out io.Writer // results
	Err io.Writer // progress, warnings, errors
	Env func(name string) string

	OutTTY bool // Out is a terminal
	ErrTTY bool // Err is a terminal
	InTTY  bool // In is a terminal
	Width  int  // columns of the terminal, 80 when there is none
	Color  bool // colour is wanted on Out

	// Interrupts delivers the user's requests to stop: the first asks for an
	// orderly end, the second for an immediate one. Until it is called, an
	// interrupt ends the process, as is right for commands that hold nothing.
	Interrupts func() <-chan os.Signal

	// Hangups delivers the wish that settings are read again, SIGHUP. Until it is
	// called, the signal ends the process, as it does when a terminal closes.
	// Windows has none.
	Hangups func() <-chan os.Signal
}

// System returns the streams, environment and signals of this process.
func System() *IO {
	// A reader that ends early, such as head, must not end a command: with a channel
	// for the signal, writing fails instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	s := &IO{
		In: os.Stdin, Out: pipe{os.Stdout}, Err: os.Stderr, Env: os.Getenv,
		OutTTY:     isTerminal(os.Stdout),
		ErrTTY:     isTerminal(os.Stderr),
		InTTY:      isTerminal(os.Stdin),
		Interrupts: sync.OnceValue(interrupts),
		Hangups:    sync.OnceValue(hangups),
	}
	s.Width = width(s)
	s.Color = s.OutTTY && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb"
	return s
}

// pipe is an output whose reader may have enough: what it does not take any more is
// no failure of the command, whose exit code says what came out.
type pipe struct{ w io.Writer }

// Write implements io.Writer.
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		return len(b), nil
	}
	return n, err
}

// interrupts subscribes to the signals. The buffer of two keeps a second Ctrl-C
// that comes before the first is read.
func interrupts() <-chan os.Signal {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c
}

// hangups subscribes to the signal. One that waits stands for all that come.
func hangups() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func width(s *IO) int {
	const fallback = 80
	if n, err := strconv.Atoi(s.Env("COLUMNS")); err == nil && n > 0 {
		return n
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return fallback
}
