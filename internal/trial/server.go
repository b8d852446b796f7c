package trial

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Server is a program that serves HTTP, with a log file of its own.
type Server struct {
	Took time.Duration // from its start to the first answer

	cmd *exec.Cmd
	log *os.File
}

// startTimeout is how long a server may take until it answers: those in Python need
// most of it on busy cores.
const startTimeout = 2 * time.Minute

// FreeAddress is a loopback address that nobody listens on. Somebody could take it
// before the server does; then the server says so.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// StartServer runs a command, with further environment variables, and waits until
// ready, a URL, is answered: with 200 when it must, and else with anything. What it
// writes goes to a file in dir, the end of which is in the error.
func StartServer(ctx context.Context, command, env []string, dir, ready string, must200 bool) (*Server, error) {
	s := &Server{cmd: exec.Command(command[0], command[1:]...)}
	var err error
	if s.log, err = os.CreateTemp(dir, "log"); err != nil {
		return nil, err
	}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = s.log, s.log, append(os.Environ(), env...)
	Together(s.cmd)
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		_ = s.log.Close()
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(command[0]), err)
	}
	for {
		err := answers(ready, must200)
		if err == nil {
			s.Took = time.Since(begun)
			return s, nil
		}
		if ctx.Err() != nil || time.Since(begun) > startTimeout {
			s.Stop()
			return nil, fmt.Errorf("starting %s: no answer: %w: %s", filepath.Base(command[0]), err, s.Said(300))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func answers(url string, must200 bool) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if must200 && response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	return nil
}

// Used is what the server and its children have taken so far.
func (s *Server) Used() Used { return Group(s.cmd.Process.Pid) }

// Said is the end of its log, of at most so many bytes.
func (s *Server) Said(bytes int) string {
	text, _ := os.ReadFile(s.log.Name()) // an empty text says nothing more
	return string(text[max(0, len(text)-bytes):])
}

// Stop ends it.
func (s *Server) Stop() {
	Kill(s.cmd)
	_ = s.cmd.Wait() // it was killed
	_ = s.log.Close()
}
