package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// stackStartTimeout bounds the start of the child, which takes a fraction of a
// second on an idle machine.
const stackStartTimeout = 30 * time.Second

// stackChild is a running stack.
type stackChild struct {
	ready stackReady
	key   string
	cmd   *exec.Cmd
	stdin io.Closer
	log   *bytes.Buffer
	once  sync.Once
	gone  chan struct{} // closed when the child has ended
}

// startStack runs this binary again as the bundled stack, so that client and
// server are measured apart, and waits until it can be used.
func startStack(ctx context.Context, args []string) (*stackChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	c := &stackChild{key: "sk-" + newID() + newID(), log: &bytes.Buffer{}}
	c.cmd = exec.Command(self, append([]string{"stack"}, args...)...)
	c.cmd.Env = stackEnvironment(c.key)
	c.cmd.Stderr = c.log
	c.cmd.SysProcAttr = ownGroup()
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the bundled stack: %w", err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the bundled stack: %w", err)
	}
	c.stdin = stdin
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the bundled stack: %w", err)
	}
	c.gone = make(chan struct{})
	if err := c.await(ctx, stdout); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// stackEnvironment is this process's without the settings of llmctl, which are
// meant for the parent and have been passed on as flags.
func stackEnvironment(key string) []string {
	env := []string{stackKeyEnv + "=" + key}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "LLMCTL_") {
			env = append(env, kv)
		}
	}
	return env
}

// await reads the line in which the child says where it is, and from then on
// the rest of its output, whose end is the end of the child.
func (c *stackChild) await(ctx context.Context, stdout io.Reader) error {
	line := make(chan []byte, 1)
	go func() {
		defer close(c.gone)
		in := bufio.NewReader(stdout)
		text, _ := in.ReadBytes('\n') // a short line is an error below
		line <- text
		_, _ = io.Copy(io.Discard, in)
		_ = c.cmd.Wait() // its exit code says nothing that the report does not
	}()
	timeout := time.NewTimer(stackStartTimeout)
	defer timeout.Stop()
	select {
	case text := <-line:
		if err := json.Unmarshal(text, &c.ready); err == nil {
			return nil
		}
		c.close() // its log is complete then
		return c.failed()
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		return fmt.Errorf("the bundled stack did not start within %s", stackStartTimeout)
	}
}

// failed is what the child said before it ended. Its exit code is kept: bad
// settings of the engine are the caller's mistake. Of a crash the first line is
// enough.
func (c *stackChild) failed() error {
	said, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(c.log.String()), "error: "), "\n")
	state := c.cmd.ProcessState
	if said == "" && state != nil {
		said = state.String() // "signal: killed", "exit status 1"
	}
	if state != nil && state.ExitCode() == exitUsage && !strings.HasPrefix(said, "fatal error") {
		return usage(errors.New(said))
	}
	return fmt.Errorf("the bundled stack ended: %s", said)
}

// close asks the child to end, and kills it if it does not.
func (c *stackChild) close() {
	c.once.Do(func() {
		_ = c.stdin.Close()
		select {
		case <-c.gone:
		case <-time.After(5 * time.Second):
			_ = c.cmd.Process.Kill()
			<-c.gone
		}
	})
}
