package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/profiles"
)

// mockFlags is everything that the command line of mock says.
type mockFlags struct {
	server       mock.Server
	addr, script string
	faults       []string
	reasoning    string
	prefill      string
	check        bool
	realTime     bool
	streams      int
	duration     time.Duration
}

// gcPercent lets the heap grow to 64 MiB before garbage is collected: Go's first
// collection is at 4 MiB × GOGC ÷ 100.
const gcPercent = 1600

func newMock(s *iostreams.IO) *cobra.Command {
	f := &mockFlags{}
	cmd := &cobra.Command{
		Use:   "mock",
		Short: "Run an exact mock server, to measure load tools against",
		Long: `Answer the OpenAI-compatible APIs (chat, completions, responses, embeddings,
models) with tokens at exactly known times, and measure how late each write was:
the figures are on /metrics and printed at the end. A token is a word.

Faults replace the answers of some requests by what broken or unusual servers
send; --fault list shows them. A script replaces all answers by given bytes at
given times:

  status: 200
  pieces:
    - { at: 50ms, event: '{"choices":[{"delta":{"content":"a"}}]}' }
    - { at: 60ms, data: "data: [DONE]\n\n", cut: 3, gap: 1ms }
  end: close     # abort, hang, reset, drop, or repeat with every: 10ms

event is data with the frame of an event around it; cut makes writes of at most
so many bytes, gap apart; repeat and every send a piece several times; raw: true
makes the pieces the whole response, status line and framing included.`,
		Example: `  llmctl mock --ttft 50ms --itl 10ms --tokens 100
  llmctl mock --tokens 0 --prefill-rate 20k --max-concurrency 32
  llmctl mock --fault http_503=0.1 --fault hang_middle=1%
  llmctl mock --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if slices.Contains(f.faults, "list") {
				return listFaults(s)
			}
			if err := f.resolve(cmd); err != nil {
				return usage(err)
			}
			if f.realTime {
				if err := mock.RealTime(); err != nil {
					return err
				}
			}
			// Answers leave some garbage. Collecting it seldom keeps the collector from
			// getting between a token and its time.
			debug.SetGCPercent(gcPercent)
			if f.check {
				return f.runCheck(cmd.Context(), s)
			}
			return f.serve(s)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *mockFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:8000", "address to listen on")
	flags.DurationVar(&f.server.TTFT, "ttft", 50*time.Millisecond, "time from a request to its first token")
	flags.DurationVar(&f.server.ITL, "itl", 10*time.Millisecond, "time between tokens")
	flags.DurationVar(&f.server.Jitter, "jitter", 0, "each event comes up to this much earlier or later")
	flags.IntVar(&f.server.Tokens, "tokens", 100, "tokens of an answer; 0: as many as max_tokens allows")
	flags.IntVar(&f.server.TokensPerChunk, "tokens-per-chunk", 1, "tokens that arrive together")
	flags.BoolVar(&f.server.Limits, "limits", false, "let max_tokens, min_tokens and ignore_eos bound --tokens, as they do a model")
	flags.BoolVar(&f.server.ContinuousUsage, "continuous-usage", false, "tell the tokens so far in each event, even unasked")
	flags.IntVar(&f.server.ReasoningTokens, "reasoning-tokens", 0, "the first tokens of an answer are thought")
	flags.StringVar(&f.reasoning, "reasoning-field", "reasoning_content", "where they are: reasoning_content, reasoning or both")
	flags.IntVar(&f.server.ToolCalls, "tool-calls", 0, "tool calls that carry the answer of a chat instead of text")
	flags.StringVar(&f.prefill, "prefill-rate", "", "prompt tokens per second that TTFT grows with, e.g. 20k (default: no growth)")
	flags.BoolVar(&f.server.PrefixCache, "prefix-caching", false, "report known prefixes of prompts as cached, and prefill only the rest")
	flags.IntVar(&f.server.MaxConcurrency, "max-concurrency", 0, "requests that run at once, the others wait; 0: no limit")
	flags.StringArrayVar(&f.faults, "fault", nil, "fault of all requests or of a part, e.g. http_503=0.1; repeatable; list shows them")
	flags.StringVar(&f.script, "script", "", "file with the bytes of every answer (YAML or JSON, see above)")
	flags.StringSliceVar(&f.server.Models, "models", nil, "models to list, and the only ones to answer (default: mock listed, any answered)")
	flags.StringVar(&f.server.APIKey, "api-key", "", "bearer key that clients must send; better set as LLMCTL_API_KEY")
	flags.StringVar(&f.server.MetricsStyle, "metrics-style", "vllm", "names on /metrics: "+strings.Join(mock.MetricsStyles, ", "))
	seedVar(flags, &f.server.Seed, 1, "seed of jitter and of which requests are at fault")
	flags.BoolVar(&f.realTime, "realtime", false, "run as soon as a write is due although all cores are busy (Linux; takes root or CAP_SYS_NICE)")
	flags.BoolVar(&f.check, "check", false, "measure this server's own accuracy through raw sockets, and end")
	flags.IntVar(&f.streams, "check-streams", 100, "streams at once in the check")
	flags.DurationVar(&f.duration, "check-duration", 3*time.Second, "length of the check")
}

// resolve checks the flags and completes the server.
func (f *mockFlags) resolve(cmd *cobra.Command) (err error) {
	sv := &f.server
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--ttft", sv.TTFT}, {"--itl", sv.ITL}, {"--jitter", sv.Jitter}} {
		if d.value < 0 {
			return fmt.Errorf("%s %s is negative", d.flag, d.value)
		}
	}
	for _, n := range []struct {
		flag       string
		value, min int
	}{
		{"--tokens", sv.Tokens, 0}, {"--tokens-per-chunk", sv.TokensPerChunk, 1}, {"--reasoning-tokens", sv.ReasoningTokens, 0},
		{"--tool-calls", sv.ToolCalls, 0}, {"--max-concurrency", sv.MaxConcurrency, 0}, {"--check-streams", f.streams, 1},
	} {
		if n.value < n.min || n.value > mock.MaxTokens {
			return fmt.Errorf("%s %d: expected %d to %d", n.flag, n.value, n.min, mock.MaxTokens)
		}
	}
	if f.duration <= 0 {
		return fmt.Errorf("--check-duration %s measures nothing, expected more than 0", f.duration)
	}
	if !slices.Contains(mock.MetricsStyles, sv.MetricsStyle) {
		return fmt.Errorf("--metrics-style: unknown choice %q, expected one of %s%s", sv.MetricsStyle, strings.Join(mock.MetricsStyles, ", "), profiles.DidYouMean(sv.MetricsStyle, mock.MetricsStyles))
	}
	if sv.ReasoningNames, err = reasoningNames(f.reasoning); err != nil {
		return err
	}
	if f.prefill != "" {
		if sv.PrefillRate, err = units.ParseCount(f.prefill); err == nil && sv.PrefillRate <= 0 {
			err = fmt.Errorf("%q is not above 0", f.prefill)
		}
		if err != nil {
			return fmt.Errorf("--prefill-rate: %w", err)
		}
	}
	if sv.Faults, err = mock.ParseFaults(f.faults); err != nil {
		return fmt.Errorf("--fault: %w; --fault list shows all", err)
	}
	if err := f.conflicts(cmd); err != nil || f.script == "" {
		return err
	}
	return f.loadScript()
}

// conflicts refuses flags that would have no effect.
func (f *mockFlags) conflicts(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case f.script != "" && len(f.faults) > 0:
		return errors.New("--script and --fault both say what is answered; give one of them")
	case f.check && (f.script != "" || len(f.faults) > 0):
		return errors.New("--check measures faultless answers; leave out --script and --fault")
	case f.check && (f.server.Tokens < 2 || f.server.MaxConcurrency > 0 || f.server.Jitter > 0):
		return errors.New("--check measures exact streams; it takes --tokens of at least 2, and neither --jitter nor --max-concurrency")
	case f.check && changed("addr"):
		return errors.New("--addr has no effect with --check, which listens on a free port of its own")
	case !f.check && (changed("check-streams") || changed("check-duration")):
		return errors.New("--check-streams and --check-duration have no effect without --check")
	case changed("reasoning-field") && f.server.ReasoningTokens == 0:
		return errors.New("--reasoning-field has no effect without --reasoning-tokens")
	}
	return nil
}

func reasoningNames(field string) ([]string, error) {
	switch field {
	case "reasoning_content", "reasoning":
		return []string{field}, nil
	case "both":
		return []string{"reasoning_content", "reasoning"}, nil
	}
	return nil, fmt.Errorf("--reasoning-field: unknown choice %q, expected reasoning_content, reasoning or both", field)
}

// scriptLimit is how long a script may be, in bytes: answers of tens of megabytes
// are among the faults that people play.
const scriptLimit = 64 << 20

func (f *mockFlags) loadScript() error {
	text, err := userfile.Read(f.script, scriptLimit)
	if err != nil {
		return fmt.Errorf("--script: %w", err)
	}
	script, err := mock.ParseScript(text)
	if err != nil {
		return fmt.Errorf("--script %s: %w", f.script, err)
	}
	f.server.Script = func(mock.Request) *mock.Script { return script }
	return nil
}

// serve answers until the user ends it.
func (f *mockFlags) serve(s *iostreams.IO) error {
	l, err := openAddress(f.addr)
	if err != nil {
		return err
	}
	address := clientURL("http://", l)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- f.server.ServeExact(ctx, l) }()
	fmt.Fprintf(s.Err, "mock server on %s/v1, metrics on %s/metrics; Ctrl-C ends it\n", address, address)
	select {
	case <-s.Interrupts():
		cancel()
		err = <-done
	case err = <-done:
	}
	fmt.Fprintln(s.Err, served(f.server.Served()))
	return err
}

// served sums up what a mock server has done, in one line.
func served(v mock.Served) string {
	var b strings.Builder
	fmt.Fprintf(&b, "served %s", units.Of(float64(v.Finished), "request"))
	for _, n := range []struct {
		count int64
		what  string
	}{{v.Refused, "refused"}, {v.Left, "left by the client"}, {v.Blocked, "writes held up by the client"}} {
		if n.count > 0 {
			fmt.Fprintf(&b, ", %d %s", n.count, n.what)
		}
	}
	fmt.Fprintf(&b, ", %d output tokens", v.OutputTokens)
	if p50, ok := v.Late.Percentile(0.5); ok {
		p99, _ := v.Late.Percentile(0.99)
		fmt.Fprintf(&b, "; writes late by %s (p50), %s (p99), %s (max)", units.Duration(p50), units.Duration(p99), units.Duration(v.Late.Max()))
	}
	return b.String()
}

func listFaults(s *iostreams.IO) error {
	for _, f := range mock.Faults {
		if _, err := fmt.Fprintf(s.Out, "%-22s %s\n", f.Name, f.About); err != nil {
			return err
		}
	}
	return nil
}
