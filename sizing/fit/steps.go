package fit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// loggedStep is what a line of an engine's step log (llmctl serve --step-log) tells about
// decoding.
type loggedStep struct {
	Duration float64           `json:"duration_s"`
	Prefill  []json.RawMessage `json:"prefill"`
	Decodes  int               `json:"decodes"`
	Context  float64           `json:"decode_context_tokens"`
	Drafts   int               `json:"draft_tokens"`
}

const (
	fewestSteps  = 8        // of one size, whose median is a point
	mostSizes    = 16       // that become points: those with the most steps
	decodeOutput = 16       // tokens of a point's answers
	longestLine  = 16 << 20 // bytes
)

// ReadSteps turns a step log into points, one for each number of sequences that
// decoded together without a piece of a prompt or drafts: the median of their time, at
// the mean of their context. So the points say what decoding costs, and nothing of
// prompts: those are cached, but for a token. It returns an error where a line is no
// step, or no size has enough steps.
func ReadSteps(r io.Reader) ([]Row, error) {
	type size struct {
		decodes   int
		durations []float64
		context   float64
	}
	sizes := map[int]*size{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var s loggedStep
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if !(s.Duration > 0) || s.Decodes < 0 || !(s.Context >= 0) {
			return nil, fmt.Errorf("line %d: a step of %g s with %d decodes at %g tokens, expected one of llmctl serve --step-log", n, s.Duration, s.Decodes, s.Context)
		}
		if s.Decodes == 0 || len(s.Prefill) > 0 || s.Drafts > 0 {
			continue
		}
		if sizes[s.Decodes] == nil {
			sizes[s.Decodes] = &size{decodes: s.Decodes}
		}
		z := sizes[s.Decodes]
		z.durations = append(z.durations, s.Duration)
		z.context += s.Context / float64(s.Decodes)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	var kept []*size
	for _, z := range sizes {
		if len(z.durations) >= fewestSteps {
			kept = append(kept, z)
		}
	}
	if len(kept) == 0 {
		return nil, errors.New("no number of sequences decoded in " + strconv.Itoa(fewestSteps) + " steps without prompts, which a point needs")
	}
	slices.SortFunc(kept, func(a, b *size) int {
		if d := len(b.durations) - len(a.durations); d != 0 {
			return d
		}
		return a.decodes - b.decodes
	})
	kept = kept[:min(mostSizes, len(kept))]
	slices.SortFunc(kept, func(a, b *size) int { return a.decodes - b.decodes })
	var rows []Row
	for _, z := range kept {
		slices.Sort(z.durations)
		input := max(2, z.context/float64(len(z.durations))-decodeOutput/2)
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }
		rows = append(rows, NewRow(map[string]string{
			"id": fmt.Sprintf("steps of %d", z.decodes), "concurrency": strconv.Itoa(z.decodes),
			"isl": number(input), "cached": number(input - 1), "osl": strconv.Itoa(decodeOutput),
			"tpot_ms": number(z.durations[len(z.durations)/2] * 1e3),
		}))
	}
	return rows, nil
}
