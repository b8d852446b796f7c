package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// served is what both servers call the model.
const served = "bench"

// engine is a server that is measured.
type engine struct {
	name    string
	command func(o *options, host, port string) []string
	version func(ctx context.Context, o *options) (string, error)
}

var engines = []engine{
	{"llmctl", llmctlCommand, llmctlVersion},
	{"llama.cpp", llamaCommand, llamaVersion},
}

// start is the command of an engine that listens on address.
func (e *engine) start(o *options, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return e.command(o, host, port), nil
}

func llmctlCommand(o *options, host, port string) []string {
	return []string{
		o.llmctl, "serve", "--model", o.model, "--served-model-name", served, "--host", host, "--port", port,
		"--workers", strconv.Itoa(o.threads),
	}
}

// llamaCommand gives each stream a slot of its own, with context for the longest
// sequence and some to spare. Continuous batching, reuse of a slot's last prompt and
// flash attention are on by default; --cache-reuse would help only prompts of which
// a part has moved.
func llamaCommand(o *options, host, port string) []string {
	return []string{
		o.llama, "--model", o.model, "--alias", served, "--host", host, "--port", port,
		"--threads", strconv.Itoa(o.threads), "--parallel", strconv.Itoa(o.load.streams), "--ctx-size", strconv.Itoa(o.load.streams * o.slot()),
		"--cont-batching", "--cache-prompt", "--no-ui",
	}
}

// slot is the context of one of llama.cpp's slots, which it rounds to multiples of
// 256.
func (o *options) slot() int { return (o.load.tokens()/256 + 1) * 256 }

func llmctlVersion(ctx context.Context, o *options) (string, error) {
	out, err := exec.CommandContext(ctx, o.llmctl, "version").Output()
	if err != nil {
		return "", fmt.Errorf("running %s: %w", o.llmctl, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "llmctl ")), nil
}

// llamaVersion is in the first line that has one: "version: 4567 (abcdef)".
func llamaVersion(ctx context.Context, o *options) (string, error) {
	if o.llama == "" {
		return "", fmt.Errorf("not asked for")
	}
	out, err := exec.CommandContext(ctx, o.llama, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("running %s: %w", o.llama, err)
	}
	for line := range strings.Lines(string(out)) {
		if version, ok := strings.CutPrefix(line, "version:"); ok {
			return strings.TrimSpace(version), nil
		}
	}
	return "", fmt.Errorf("%s --version does not say its version", o.llama)
}
