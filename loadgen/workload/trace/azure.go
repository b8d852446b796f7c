package trace

import (
	"bufio"
	"strings"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// readAzure reads the Azure LLM inference traces: TIMESTAMP, ContextTokens,
// GeneratedTokens. Timestamps of 2023 have seven digits of a second and no zone
// (2023-11-16 18:17:03.9799600), those of 2024 six and a zone
// (2024-05-10 00:00:00.009930+00:00).
func readAzure(in *bufio.Reader, b *builder) error {
	t, err := openTable(in)
	if err != nil {
		return err
	}
	columns, err := t.columns("TIMESTAMP", "ContextTokens", "GeneratedTokens")
	if err != nil {
		return err
	}
	at, context, generated := columns[0], columns[1], columns[2]
	return t.each(b, func() {
		text := strings.TrimSpace(t.fields[at])
		when, ok := instant(text)
		if !ok {
			b.broken(t.lines.n, t.starts[at], "no date and time in "+t.names[at], text)
			return
		}
		input, ok := t.tokens(b, context)
		if !ok {
			return
		}
		output, ok := t.tokens(b, generated)
		if !ok {
			return
		}
		if offset, in := b.at(when, t.lines.n); in && t.sendable(b, context, input, generated, output) {
			b.begin(offset, workload.Turn{Input: input, Output: output})
		}
	})
}

// sendable leaves out a request without a prompt or without an answer.
func (t *table) sendable(b *builder, inputColumn, input, outputColumn, output int) bool {
	switch {
	case input == 0:
		b.leaveOut(t.lines.n, t.starts[inputColumn], "no prompt, "+t.names[inputColumn]+" is 0", "")
	case output == 0:
		b.leaveOut(t.lines.n, t.starts[outputColumn], "no answer, "+t.names[outputColumn]+" is 0", "")
	default:
		return true
	}
	return false
}
