package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/iostreams"
)

const cliDoc = "../../docs/cli.md"

// docs/cli.md is the help of every command, so that it can not go stale.
func TestCommandLineReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(cliDocHead)
	describe(&b, newRoot(&iostreams.IO{Env: func(string) string { return "" }}))
	if *update {
		if err := os.WriteFile(cliDoc, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(cliDoc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("docs/cli.md is not what the commands say, run make golden (-have +want):\n%s", diff)
	}
}

func describe(b *strings.Builder, c *cobra.Command) {
	if !c.IsAvailableCommand() && c.HasParent() {
		return
	}
	c.InitDefaultHelpFlag()
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, "%s\n", strings.TrimSpace(text))
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindent(c.Example))
	}
	if flags := flagHelp(c, c.NonInheritedFlags(), "", 100); flags != "" && c.HasParent() {
		fmt.Fprintf(b, "\n```\n%s```\n", flags)
	}
	for _, sub := range c.Commands() {
		if sub.Name() != "completion" && sub.Name() != "help" {
			describe(b, sub)
		}
	}
}

func unindent(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

const cliDocHead = `# Command line

Written from the commands' own help by ` + "`make golden`" + `.

Each flag can be set by an environment variable too: ` + "`--max-model-len` by `LLMCTL_MAX_MODEL_LEN`" + `.
Of several places that say the same, the strongest comes first: flag, environment,
scenario file (` + "`-f`" + `), user configuration (` + "`$XDG_CONFIG_HOME/llmctl/config.yaml`" + `, a map from
flag names to values), default. ` + "`OPENAI_BASE_URL` and `OPENAI_API_KEY`" + ` are honoured by bench
and conform.

Results go to standard output, progress and warnings to standard error. NO_COLOR
is respected, and nothing is drawn off a terminal.

` + "`llmctl completion bash|zsh|fish|powershell`" + ` prints a completion script for a shell.

Units in values: 4/s, 500ms, 80GB, 80GiB, 8k.

## Exit codes

| code | meaning |
|---|---|
| 0 | done, and every condition asked for held |
| 1 | could not do it: target unreachable, file unreadable, engine failed; doctor: a check failed |
| 2 | bad command line, scenario or configuration; nothing was started |
| 97 | measured, but not trustworthy: the client was the limit, too many requests failed (--max-failures), or nothing was measured |
| 99 | an SLO or assertion that was asked for did not hold; size: no feasible plan; conform: a case failed |
| 130 | interrupted; partial results were written |

## Assertions

` + "`--assert 'STAT(METRIC) OP VALUE'`" + `. STAT is p0 to p100, mean, max, n or rate; METRIC is ttft,
ttft_from_schedule, ttfo, tpot, icl, e2e, lag, failures, and without a STAT goodput,
attainment, output_tokens_per_s, prefix_hit_rate or usd_per_1m_output_tokens; OP is one
of < <= > >= ==; VALUE has a unit where the metric has one.
` + "`p99(ttft) < 800ms`, `rate(failures) <= 0.5%`, `goodput >= 4/s`" + `.
`
