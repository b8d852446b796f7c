package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A command line that cannot be meant ends with 2 and one line of our own, which names
// what is wrong.
func TestBadCommandLinesOfServe(t *testing.T) {
	modeled := []string{"--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b"}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"an address and a port", []string{"--addr", "127.0.0.1:0", "--port", "80"}, "--addr says both"},
		{"an address and a host", []string{"--addr", "127.0.0.1:0", "--host", "::1"}, "--addr says both"},
		{"a port beyond all", []string{"--port", "65536"}, "--port 65536"},
		{"a shorthand that is not there", []string{"-x"}, "unknown shorthand"},
		{"a flag that is not there", []string{"--max-num-sequences", "3"}, "unknown flag --max-num-sequences"},
		{"two models", []string{"a", "b"}, "2 models, expected one"},
		{"no tokens proposed", []string{"--speculative-config", `{"method":"ngram","num_speculative_tokens":0}`}, "0 is not a whole number of at least 1"},
		{"shortest n-gram of nothing", []string{"--speculative-config", `{"method":"ngram","prompt_lookup_min":0}`}, "0 is not a whole number of at least 1"},
		{"longest n-gram of nothing", []string{"--speculative-config", `{"method":"ngram","prompt_lookup_max":0}`}, "0 is not a whole number of at least 1"},
		{"no tokens proposed, by the flag", []string{"--speculative-model", "ngram", "--num-speculative-tokens", "0"}, "--num-speculative-tokens"},
		{"no memory", []string{"--gpu-memory-utilization", "0"}, "more than 0 and at most 1"},
		{"more than all memory", []string{"--gpu-memory-utilization", "1.5"}, "more than 0 and at most 1"},
		{"no number", []string{"--gpu-memory-utilization", "NaN"}, "more than 0 and at most 1"},
		{"no workers", []string{"--workers", "0"}, "--workers"},
		{"no cache", []string{"--kv-cache-memory", "0"}, "--kv-cache-memory 0, expected more than 0"},
		{"no cache of a modeled device", append([]string{"--kv-cache-memory", "0GiB"}, modeled...), "--kv-cache-memory 0GiB, expected more than 0"},
		{"time that stands still", append([]string{"--time-scale", "0"}, modeled...), "more than 0"},
		{"time that goes back", append([]string{"--time-scale", "-1"}, modeled...), "more than 0"},
		{"time that flies", append([]string{"--time-scale", "10001"}, modeled...), "at most 10000"},
		{"steps with fewer tokens than requests", []string{"--max-num-seqs", "8", "--max-num-batched-tokens", "7"}, "max_num_batched_tokens (7) must be greater than or equal to max_num_seqs (8)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said bytes.Buffer
			s := quiet()
			s.Err = &said
			code := run(s, append([]string{"serve"}, c.args...))
			text := said.String()
			if code != exitUsage || !strings.HasPrefix(text, "error: ") || strings.Count(text, "\n") != 1 || !strings.Contains(text, c.want) {
				t.Errorf("exit %d: %s\nwant 2, and one line with %q", code, text, c.want)
			}
		})
	}
}

// Where a server listens, by whichever flags say it: a port of 0 is any free one.
func TestAddressOfServe(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing is said", nil, "127.0.0.1:8000"},
		{"an address", []string{"--addr", ":1"}, ":1"},
		{"a host", []string{"--host", "::1"}, "[::1]:8000"},
		{"a port", []string{"--port", "80"}, "127.0.0.1:80"},
		{"any port", []string{"--port", "0"}, "127.0.0.1:0"},
		{"both", []string{"--host", "0.0.0.0", "--port", "1"}, "0.0.0.0:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f serveFlags
			cmd := &cobra.Command{}
			f.add(cmd)
			if err := cmd.ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			if got, err := f.address(); err != nil || got != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
}
