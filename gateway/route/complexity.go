package route

import (
	"strconv"
	"strings"
)

// Signals are what a request's complexity is judged by.
type Signals struct {
	PromptTokens int64
	Tools        int      // number of them
	ToolBytes    int      // of their JSON
	CodeMarkers  int      // in the prompt, see CodeMarkers
	Hint         *float64 // the caller's own judgement, 0..1; nil for none
}

// The values of a signal at which it alone makes a score of ½. They are judgement:
// a prompt of some ten pages, eight tools (or four of a KiB each), eight lines of
// code are work that a small model often fails at.
const (
	halfPrompt = 8000 // tokens
	halfTools  = 8    // tools, plus KiB of them
	halfCode   = 8    // markers
)

// Complexity scores how demanding a request is, 0..1:
//
//	1 − (1 − p)(1 − t)(1 − c)
//	p = tokens / (tokens + 8000)
//	t = (tools + KiB of tools) / (tools + KiB of tools + 8)
//	c = markers / (markers + 8)
//
// so that it grows with each signal, and one that is strong is enough. A caller's
// hint takes the place of all that: who asks knows better.
func Complexity(s Signals) float64 {
	if s.Hint != nil {
		return min(max(*s.Hint, 0), 1)
	}
	share := func(x, half float64) float64 { return x / (x + half) }
	p := share(float64(max(s.PromptTokens, 0)), halfPrompt)
	t := share(float64(max(s.Tools, 0))+float64(max(s.ToolBytes, 0))/1024, halfTools)
	c := share(float64(max(s.CodeMarkers, 0)), halfCode)
	return 1 - (1-p)*(1-t)*(1-c)
}

// ParseHint reads a caller's judgement: low (0), high (1), or a number from 0 to 1.
func ParseHint(s string) (hint float64, ok bool) {
	switch strings.ToLower(s) {
	case "low":
		return 0, true
	case "high":
		return 1, true
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && v <= 1
}

// CodeMarkers counts signs of program code in JSON text, as it is on the wire:
// fences (```) and lines that end in {, }, ; or ):.
func CodeMarkers(raw string) int {
	const newline = `\n`
	n := strings.Count(raw, "```")
	for {
		i := strings.Index(raw, newline)
		if i < 0 {
			return n
		}
		if codeLine(strings.TrimSuffix(raw[:i], `\r`)) {
			n++
		}
		raw = raw[i+len(newline):]
	}
}

func codeLine(line string) bool {
	if line == "" {
		return false
	}
	switch line[len(line)-1] {
	case '{', '}', ';':
		return true
	}
	return strings.HasSuffix(line, "):")
}
