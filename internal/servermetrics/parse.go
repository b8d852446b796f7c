package servermetrics

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/llmctl/llmctl/reports/record"
)

// Parse reads a page: Prometheus' text format, or the JSON that /metrics of
// trtllm-serve answers. Where the page labels series with model names and one
// of them is model, the others are left out; an empty model, or one that the
// page does not know, takes all. Several series of a metric (one per engine,
// data-parallel rank or model) are summed, shares such as KV usage averaged;
// ranks of one tensor-parallel group say the same and count once. The sample's
// time is left to the caller. A page that can not be read gives an unknown
// sample beside the error.
func Parse(r io.Reader, model string) (record.ServerSample, error) {
	text := bufio.NewReader(r)
	if first, err := firstByte(text); err == nil && (first == '[' || first == '{') {
		return parseJSON(text)
	}
	p, err := parsePage(text, model)
	if err != nil {
		return record.UnknownSample(), err
	}
	return p.sample(), nil
}

// firstByte is the first byte that is no white space; it stays unread.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(b)) {
			return b, r.UnreadByte()
		}
	}
}

func parsePage(r io.Reader, modelName string) (*page, error) {
	text, err := onlyWanted(r)
	if err != nil {
		return nil, fmt.Errorf("reading a Prometheus page: %w", err)
	}
	families, err := parseText(text)
	if err != nil {
		return nil, fmt.Errorf("parsing a Prometheus page: %w", err)
	}
	return newPage(families, modelName), nil
}

// sample looks up each quantity of the table.
func (p *page) sample() record.ServerSample {
	s := record.UnknownSample()
	for _, n := range record.Numbers {
		*n.Of(&s) = p.number(numberNames[n.Key], n.Share)
	}
	s.Steps = math.NaN()
	if h := p.histogram(numberNames["steps"]); h != nil {
		s.Steps = h.Count()
	}
	if math.IsNaN(s.KVUsage) {
		s.KVUsage = p.kvRatio()
	}
	// SGLang exports 0 for both while it does not speculate. A step that does
	// gives at least one token.
	if s.AcceptanceLength == 0 {
		s.AcceptanceRate, s.AcceptanceLength = math.NaN(), math.NaN()
	}
	for _, t := range record.Timings {
		*t.Of(&s) = p.histogram(timingNames[t.Key])
	}
	s.Finished = p.reasons()
	return s
}

func (p *page) kvRatio() float64 {
	for _, k := range kvBlocks {
		used, all := p.number([]string{k.used}, false), p.number([]string{k.all}, false)
		if all > 0 && !math.IsNaN(used) {
			return used / all
		}
	}
	return math.NaN()
}

// maxReasons bounds how many reasons for an end are told apart: a page may
// label without end.
const maxReasons = 32

// reasons are the requests that ended, by reason; nil when the page does not
// count them.
func (p *page) reasons() map[string]float64 {
	for _, f := range finished {
		series := p.series(f.name)
		if len(series) == 0 {
			continue
		}
		out := map[string]float64{}
		for _, m := range series {
			v, ok := value(m)
			if !ok {
				continue
			}
			reason := label(m, f.label)
			if reason == "" {
				reason = "all"
			}
			if _, known := out[reason]; !known && len(out) >= maxReasons {
				reason = "other"
			}
			out[reason] += v
		}
		return out
	}
	return nil
}
