package request

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmctl/llmctl/internal/optional"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// CalibrationLimit is how long Calibrate takes at most.
const CalibrationLimit = 30 * time.Second

// Tokens counts the tokens of a text in a vocabulary, without those that mark
// its beginning or end.
type Tokens interface {
	Count(text string) int
}

// Calibration is what Calibrate needs to know.
type Calibration struct {
	Client client.Options
	Model  string
	// Prompts are those of the run. Their Lengths are not used, and their Salt
	// is changed, so that nothing of the run is in a cache when it begins.
	Prompts Prompts
	// Sessions are some of those that will be sent, to see what they consist of.
	Sessions []workload.Session
	// Tokenizer is the vocabulary of a tokenizer.json; nil without one.
	Tokenizer Tokens
}

// Calibrate finds out how texts become tokens at the target: by the tokenizer
// given, else by the server's /tokenize, else by the usage of a few requests for
// one token; what a chat template adds always by one of the latter two. It then
// checks one request of the workload against its usage, and where that says
// something else, calibrates by usage alone.
//
// It sends nothing, and returns the zero Lengths, where all texts are recorded.
// An error says why the target's lengths can not be known; ErrNoUsage, that the
// server does not tell. The Lengths are then what is known without it: of the
// tokenizer given, or that texts are as many words as tokens are asked for.
func Calibrate(ctx context.Context, c Calibration) (Lengths, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CalibrationLimit, fmt.Errorf("it took more than %s", CalibrationLimit))
	defer cancel()
	lengths, err := calibrate(ctx, c)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return lengths, err
}

func calibrate(ctx context.Context, c Calibration) (Lengths, error) {
	plan := planFor(c.Sessions)
	if len(plan.shapes) == 0 {
		return Lengths{}, nil
	}
	start := time.Now()
	c.Client.Now = func() time.Duration { return time.Since(start) }
	c.Client.OnFirst, c.Client.OnOutput = nil, nil
	if c.Client.TotalTimeout == 0 {
		c.Client.TotalTimeout = CalibrationLimit
	}
	c.Prompts.Salt += " calibration"
	c.Prompts.Lengths = Lengths{}
	connection, err := client.New(c.Client)
	if err != nil {
		return Lengths{}, err
	}
	defer connection.Close()
	usage := &usageCounter{client: connection}
	k := &calibrator{plan: plan, writer: &Writer{Model: c.Model, API: c.Client.API, Prompts: c.Prompts}}

	tokenize := &tokenizeCounter{client: connection}
	lengths, err := k.fit(ctx, tokenize, c.Tokenizer, FromServer)
	if err != nil {
		lengths, err = k.fit(ctx, usage, c.Tokenizer, FromUsage)
	}
	if err == nil && k.check(ctx, usage, &lengths) && lengths.Source != FromUsage {
		// The server counts in another way than what it or the user said.
		refuted := lengths.Source
		if lengths, err = k.fit(ctx, usage, nil, FromUsage); err == nil {
			k.check(ctx, usage, &lengths)
		}
		lengths.Refuted = refuted
	}
	if err != nil && c.Tokenizer != nil && lengths.Refuted == "" {
		lengths.Source = FromFile
		lengths.words, lengths.perWord = pick(c.Tokenizer)
	}
	lengths.Requests = usage.sent + tokenize.sent
	return lengths, err
}

// plan is what the prompts of a workload consist of.
type plan struct {
	shapes []shape          // of first turns, the plainest first
	later  bool             // sessions have more turns than one
	sample workload.Session // one whose first turn is of middling length
}

func planFor(sessions []workload.Session) (p plan) {
	var made []workload.Session
	for _, s := range sessions {
		if len(s.Turns) == 0 {
			continue // nothing of it is sent
		}
		t := &s.Turns[0]
		if t.Text != "" || t.Body != nil {
			continue
		}
		made = append(made, s)
		p.later = p.later || len(s.Turns) > 1
		if kind := (shape{t.Prefix > 0, t.Tools, t.Schema}); !slices.Contains(p.shapes, kind) {
			p.shapes = append(p.shapes, kind)
		}
	}
	if len(made) == 0 {
		return plan{}
	}
	slices.SortFunc(p.shapes, func(a, b shape) int { return cmp.Compare(a.size(), b.size()) })
	slices.SortStableFunc(made, func(a, b workload.Session) int { return cmp.Compare(a.Turns[0].Input, b.Turns[0].Input) })
	p.sample = made[len(made)/2]
	return p
}

// size orders shapes by how much they have.
func (s shape) size() (n int) {
	for i, has := range []bool{s.system, s.schema, s.tools} {
		if has {
			n += 1 << i
		}
	}
	return n
}

// calibrator asks a counter about texts of the standard words.
type calibrator struct {
	plan   plan
	writer *Writer
	asked  uint64 // questions so far; no two hold the same text
}

// fit finds out what a word costs, by the vocabulary where there is one, and
// what each shape of prompt adds.
func (k *calibrator) fit(ctx context.Context, by counter, vocabulary Tokens, source Source) (Lengths, error) {
	l := Lengths{Source: source, overhead: map[shape]float64{}}
	first := k.plan.shapes[0]
	var err error
	if vocabulary != nil {
		l.Source = FromFile
		l.words, l.perWord = pick(vocabulary)
	} else if err = k.words(ctx, by, first, &l); err != nil {
		return Lengths{}, err
	}
	for _, s := range k.plan.shapes {
		if _, known := l.overhead[s]; known {
			continue
		}
		talk := k.talk(s, l.words, 1)
		total, err := k.count(ctx, by, s, talk)
		if err != nil {
			return Lengths{}, err
		}
		l.overhead[s] = float64(total) - l.perWord*float64(len(talk)*(len(l.words)+1))
	}
	if k.plan.later {
		if l.later, err = k.later(ctx, by, &l); err != nil {
			return Lengths{}, err
		}
	}
	return l, nil
}

// words looks for words of one token each. As no word costs less, a sum of one
// each proves that each does. Where the standard words cost more, they are asked
// about in parts, and the parts whose words cost one token each are kept; where
// those are too few, texts are made of words that cost about the same.
func (k *calibrator) words(ctx context.Context, by counter, s shape, l *Lengths) error {
	empty, err := k.pool(ctx, by, s, standardWords(), l)
	if err != nil || l.perWord == 1 {
		return err
	}
	single, err := k.single(ctx, by, s, empty)
	if err != nil {
		return err
	}
	if len(single) < poolSize/2 {
		_, err = k.pool(ctx, by, s, evenWords(), l)
		return err
	}
	texts := len(k.talk(s, nil, 0))
	l.words, l.perWord, l.overhead[s] = single, 1, float64(empty-texts)
	return nil
}

// pool asks for the tokens of all words once and twice: the difference is what
// they cost together. empty is what is left without any.
func (k *calibrator) pool(ctx context.Context, by counter, s shape, pool []string, l *Lengths) (empty int, err error) {
	once, err := k.count(ctx, by, s, k.talk(s, pool, 1))
	if err != nil {
		return 0, err
	}
	twice, err := k.count(ctx, by, s, k.talk(s, pool, 2))
	if err != nil {
		return 0, err
	}
	texts := len(k.talk(s, nil, 0))
	empty, cost := 2*once-twice, twice-once
	if cost <= 0 {
		return 0, fmt.Errorf("the server counts %d tokens for a text and %d for one twice as long", once, twice)
	}
	l.words, l.perWord = pool, float64(cost)/float64(texts*len(pool))
	l.overhead[s] = float64(empty) - l.perWord*float64(texts)
	return empty, nil
}

// partSize is how many words are asked about together.
const partSize = poolSize / 8

// single returns the words that are in parts of one token a word.
func (k *calibrator) single(ctx context.Context, by counter, s shape, empty int) (words []string, err error) {
	for part := range slices.Chunk(standardWords(), partSize) {
		talk := k.talk(s, part, 1)
		n, err := k.count(ctx, by, s, talk)
		if err != nil {
			return nil, err
		}
		if n-empty == len(talk)*len(part) {
			words = append(words, part...)
		}
	}
	return words, nil
}

// later finds out what a second turn adds besides its words and the answer
// before it.
func (k *calibrator) later(ctx context.Context, by counter, l *Lengths) (float64, error) {
	s := k.plan.shapes[0]
	talk := k.talk(s, l.words, 1)
	before := l.overhead[s] + l.perWord*float64(len(talk)*(len(l.words)+1))
	talk = append(talk, saying{role: "assistant", text: k.text(l.words, 1)}, saying{role: "user", text: k.text(l.words, 1)})
	total, err := k.count(ctx, by, s, talk)
	// The answer's digit is one token of it, as the server would have counted it.
	answer := 1 + l.perWord*float64(len(l.words))
	return float64(total) - before - answer - l.perWord*float64(len(l.words)+1), err
}

// talk is a conversation of a shape, each of whose texts holds all words a
// number of times.
func (k *calibrator) talk(s shape, words []string, times int) (talk []saying) {
	if s.system {
		talk = append(talk, saying{role: "system", text: k.text(words, times)})
	}
	return append(talk, saying{role: "user", text: k.text(words, times)})
}

func (k *calibrator) text(words []string, times int) string {
	k.asked++
	return write(words, k.writer.seed(), probeText, k.asked, 1+len(words)*times)
}

func (k *calibrator) count(ctx context.Context, by counter, s shape, talk []saying) (int, error) {
	t := workload.Turn{Output: k.output(), Tools: s.tools, Schema: s.schema}
	session := workload.Session{Model: k.plan.sample.Model, Turns: []workload.Turn{t}}
	return by.count(ctx, k.writer.body(session, &t, talk, Without{}))
}

// output is the fewest tokens that a request can ask for: the Responses API
// takes no less than 16.
func (k *calibrator) output() int {
	if k.writer.API == client.Responses {
		return 16
	}
	return 1
}

// The difference between tokens asked for and counted that is still right.
const (
	tolerance      = 1     // tokens
	toleranceShare = 0.005 // of those asked for
)

// check sends a request of the workload and reports whether its prompt is not
// as long as asked for. A server that does not say contradicts nothing.
func (k *calibrator) check(ctx context.Context, usage *usageCounter, l *Lengths) (off bool) {
	s := k.plan.sample
	t := s.Turns[0]
	kind := shape{t.Prefix > 0, t.Tools, t.Schema}
	if float64(t.Input) < l.overhead[kind]+2*l.perWord {
		return false // no text is short enough
	}
	t.Output = k.output()
	w := &Writer{Model: k.writer.Model, API: k.writer.API, Prompts: k.writer.Prompts}
	w.Lengths = *l
	s.Turns = []workload.Turn{t}
	got, err := usage.count(ctx, w.Write(s, 0, nil, Without{}))
	if err != nil {
		return false
	}
	l.Checked, l.Counted = optional.Counted(t.Input), optional.Counted(got)
	return math.Abs(float64(got-t.Input)) > max(tolerance, toleranceShare*float64(t.Input))
}

// pick returns the words of the list that are one token of a vocabulary, at
// most poolSize, and what they cost on average; where they are too few, it takes
// the standard words as they are.
func pick(vocabulary Tokens) (words []string, perWord float64) {
	for _, word := range allWords() {
		if len(words) < poolSize && vocabulary.Count("7 "+word+" "+word)-vocabulary.Count("7 "+word) == 1 {
			words = append(words, word)
		}
	}
	if len(words) >= poolSize/2 {
		return words, 1
	}
	words = evenWords()
	once, twice := write(words, 0, probeText, 0, 1+len(words)), write(words, 0, probeText, 0, 1+2*len(words))
	return words, float64(vocabulary.Count(twice)-vocabulary.Count(once)) / float64(len(words))
}
