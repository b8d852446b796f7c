package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/llmctl/llmctl/internal/iostreams"
)

// TestEmittedServeFlagsExist reads the command that --emit llmctl writes with the
// flags of serve, and checks the configuration that they make.
func TestEmittedServeFlagsExist(t *testing.T) {
	for _, line := range []string{
		"size --model builtin --engine llmctl --max-model-len 2048 --kv-cache-memory 64MiB --emit llmctl",
		"size --model llama-3.1-8b --emit llmctl",
	} {
		var out, errs bytes.Buffer
		s := &iostreams.IO{Out: &out, Err: &errs, Width: 80, Env: func(string) string { return "" }}
		if code := run(s, strings.Fields(line)); code != 0 {
			t.Fatalf("%s: exit code %d, %s", line, code, errs.String())
		}
		var words []string
		for text := range strings.Lines(strings.ReplaceAll(out.String(), "\\\n", "")) {
			if !strings.HasPrefix(text, "#") {
				words = append(words, strings.Fields(text)...)
			}
		}
		if len(words) < 3 || words[0] != "llmctl" || words[1] != "serve" {
			t.Fatalf("%s gives %s", line, out.String())
		}
		serve := newServe(s)
		if err := serve.ParseFlags(words[2:]); err != nil {
			t.Errorf("%v: %v", words, err)
		}
		set := 0
		serve.Flags().Visit(func(*pflag.Flag) { set++ })
		if set != len(words[2:])/2 || serve.Flags().NArg() != 0 {
			t.Errorf("%d flags of %v were read, and %v left over", set, words, serve.Flags().Args())
		}
	}
}
