package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// ServerSample is one scrape of one of the target's metrics pages in
// engine-neutral terms. Counters are totals since the server started. NaN and
// nil mark what the page does not say.
type ServerSample struct {
	At   time.Duration
	Page string // the page's address, where a run has several; else empty

	Running          float64 // gauge: requests in execution
	Waiting          float64 // gauge: requests waiting for a start
	KVUsage          float64 // gauge, 0..1
	Preemptions      float64 // counter
	PrefixQueries    float64 // counter, tokens looked up in the prefix cache
	PrefixHits       float64 // counter, tokens found there
	PromptTokens     float64 // counter
	GenerationTokens float64 // counter
	DraftTokens      float64 // counter: tokens that speculative decoding proposed
	AcceptedTokens   float64 // counter: those of them that were right
	Drafts           float64 // counter: times that it proposed some
	AcceptanceRate   float64 // gauge: accepted ÷ proposed tokens, 0..1, as the server says
	AcceptanceLength float64 // gauge: tokens of one step with speculation, 1 without success
	Steps            float64 // counter: steps of the engine that have ended
	StepTokens       float64 // counter: tokens that they computed, of prompts too

	// Finished counts requests that ended, by the server's own reason.
	Finished map[string]float64

	TTFT  *Histogram // of a request, from its arrival at the server
	TPOT  *Histogram // of a request: its mean over its output tokens
	ITL   *Histogram // of a token: the gap before it
	Queue *Histogram // of a request: its wait for a start
	E2E   *Histogram // of a request, to its end
}

// Histogram is a Prometheus histogram of times in seconds. Counts are
// cumulative: Counts[i] values were at most Bounds[i], whose last is +Inf.
type Histogram struct {
	Bounds []float64
	Counts []float64
	Sum    float64
}

// Count is the number of values in all.
func (h *Histogram) Count() float64 {
	if len(h.Counts) == 0 {
		return 0
	}
	return h.Counts[len(h.Counts)-1]
}

// A Number is one of the plain numbers of a ServerSample.
type Number struct {
	Key     string // in files
	Counter bool   // a total that only grows while the server lives
	Share   bool   // of something that each server has for itself: several make their mean, not their sum
	Of      func(*ServerSample) *float64
}

// Numbers are all plain numbers of a ServerSample, in the order of files.
var Numbers = []Number{
	{"running", false, false, func(s *ServerSample) *float64 { return &s.Running }},
	{"waiting", false, false, func(s *ServerSample) *float64 { return &s.Waiting }},
	{"kv_usage", false, true, func(s *ServerSample) *float64 { return &s.KVUsage }},
	{"preemptions", true, false, func(s *ServerSample) *float64 { return &s.Preemptions }},
	{"prefix_queries", true, false, func(s *ServerSample) *float64 { return &s.PrefixQueries }},
	{"prefix_hits", true, false, func(s *ServerSample) *float64 { return &s.PrefixHits }},
	{"prompt_tokens", true, false, func(s *ServerSample) *float64 { return &s.PromptTokens }},
	{"generation_tokens", true, false, func(s *ServerSample) *float64 { return &s.GenerationTokens }},
	{"draft_tokens", true, false, func(s *ServerSample) *float64 { return &s.DraftTokens }},
	{"accepted_tokens", true, false, func(s *ServerSample) *float64 { return &s.AcceptedTokens }},
	{"drafts", true, false, func(s *ServerSample) *float64 { return &s.Drafts }},
	{"acceptance_rate", false, true, func(s *ServerSample) *float64 { return &s.AcceptanceRate }},
	{"acceptance_length", false, true, func(s *ServerSample) *float64 { return &s.AcceptanceLength }},
	{"steps", true, false, func(s *ServerSample) *float64 { return &s.Steps }},
	{"step_tokens", true, false, func(s *ServerSample) *float64 { return &s.StepTokens }},
}

// A Timing is one of the histograms of a ServerSample.
type Timing struct {
	Key string // in files
	Of  func(*ServerSample) **Histogram
}

// Timings are all histograms of a ServerSample, in the order of files.
var Timings = []Timing{
	{"ttft_s", func(s *ServerSample) **Histogram { return &s.TTFT }},
	{"tpot_s", func(s *ServerSample) **Histogram { return &s.TPOT }},
	{"itl_s", func(s *ServerSample) **Histogram { return &s.ITL }},
	{"queue_s", func(s *ServerSample) **Histogram { return &s.Queue }},
	{"e2e_s", func(s *ServerSample) **Histogram { return &s.E2E }},
}

// UnknownSample is a sample of a page that says nothing.
func UnknownSample() ServerSample {
	var s ServerSample
	for _, n := range Numbers {
		*n.Of(&s) = math.NaN()
	}
	return s
}

// Empty reports whether the sample says nothing: the page is not that of an
// inference server.
func (s *ServerSample) Empty() bool {
	for _, n := range Numbers {
		if !math.IsNaN(*n.Of(s)) {
			return false
		}
	}
	for _, t := range Timings {
		if *t.Of(s) != nil {
			return false
		}
	}
	return len(s.Finished) == 0
}

// MarshalJSON writes a sample on one line; what is unknown is left out.
func (s ServerSample) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(`{"at_s":`)
	out.Write(appendSeconds(nil, s.At))
	write := func(key string, value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		out.WriteString("," + strconv.Quote(key) + ":")
		out.Write(text)
		return nil
	}
	if s.Page != "" {
		if err := write("page", s.Page); err != nil {
			return nil, err
		}
	}
	for _, n := range Numbers {
		if v := known(*n.Of(&s)); v != nil {
			if err := write(n.Key, *v); err != nil {
				return nil, err
			}
		}
	}
	if len(s.Finished) > 0 {
		if err := write("finished", s.Finished); err != nil {
			return nil, err
		}
	}
	for _, t := range Timings {
		if h := *t.Of(&s); h != nil {
			if err := write(t.Key, h); err != nil {
				return nil, err
			}
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Members that it does not know are
// left out.
func (s *ServerSample) UnmarshalJSON(text []byte) error {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*s = UnknownSample()
	read := func(key string, to any) error {
		if raw, ok := in[key]; ok {
			return json.Unmarshal(raw, to)
		}
		return nil
	}
	if err := read("at_s", (*seconds)(&s.At)); err != nil {
		return err
	}
	if err := read("page", &s.Page); err != nil {
		return err
	}
	for _, n := range Numbers {
		if err := read(n.Key, n.Of(s)); err != nil {
			return err
		}
	}
	if err := read("finished", &s.Finished); err != nil {
		return err
	}
	for _, t := range Timings {
		if err := read(t.Key, t.Of(s)); err != nil {
			return err
		}
	}
	return nil
}

// Combine is what several servers say as one: the sum of their numbers, the mean
// of their shares, over those that say one; NaN when none does.
func (n Number) Combine(values []float64) float64 {
	sum, known := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			known++
		}
	}
	switch {
	case known == 0:
		return math.NaN()
	case n.Share:
		return sum / float64(known)
	}
	return sum
}

// Together is what several servers say as one, as of the latest of their
// samples. It has no histograms and no reasons, whose growth is added up
// instead.
func Together(servers []ServerSample) ServerSample {
	var total ServerSample
	values := make([]float64, len(servers))
	for _, n := range Numbers {
		for i := range servers {
			values[i] = *n.Of(&servers[i])
		}
		*n.Of(&total) = n.Combine(values)
	}
	for i := range servers {
		total.At = max(total.At, servers[i].At)
	}
	return total
}
