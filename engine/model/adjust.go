package model

import "math"

// changes says whether anything but temperature and filters decides the i-th place.
func (q *Sequence) changes(i int) bool {
	return q.Guide != nil || i < q.Until && len(q.Forbidden) > 0 || len(q.Sampling.Bias) > 0 || q.History != nil
}

// change applies to logits what comes before the temperature, in vLLM's order
// (vllm/v1/sample/sampler.py): the guide, tokens that may not come yet, biases,
// penalties.
func (s *Sampler) change(q *Sequence, i int, logits []float32) {
	never := float32(math.Inf(-1))
	if q.Guide != nil {
		words := (len(logits) + 63) / 64
		if cap(s.allowed) < words {
			s.allowed = make([]uint64, words)
		}
		s.allowed = s.allowed[:words]
		q.Guide.Mask(s.allowed)
		forbid(logits, s.allowed)
	}
	if i < q.Until {
		for _, t := range q.Forbidden {
			if int(t) < len(logits) {
				logits[t] = never
			}
		}
	}
	for _, b := range q.Sampling.Bias {
		if b.Token >= 0 && int(b.Token) < len(logits) {
			logits[b.Token] += b.Value
		}
	}
	if q.History != nil {
		q.History.penalize(logits, q.Sampling)
	}
}

// forbid rules out tokens whose bit is not set.
func forbid(logits []float32, allowed []uint64) {
	never := float32(math.Inf(-1))
	for word, bits := range allowed {
		if bits == math.MaxUint64 {
			continue
		}
		end := min(64, len(logits)-64*word)
		for bit, at := 0, logits[64*word:64*word+end]; bit < len(at); bit++ {
			if bits>>bit&1 == 0 {
				at[bit] = never
			}
		}
	}
}

// Penalized says whether tokens that are there already are to be less likely.
func (p Sampling) Penalized() bool {
	return p.Presence != 0 || p.Frequency != 0 || p.repeats()
}

func (p Sampling) repeats() bool { return p.Repetition != 0 && p.Repetition != 1 }

// History counts the tokens of one answer and its prompt, for penalties. Its costs
// are those of the different tokens that there are, and not of the vocabulary.
type History struct {
	at     map[int32]int32 // place in the lists
	tokens []int32
	counts []int32 // in the output; 0 for those that only the prompt has
}

// NewHistory counts an answer so far. The prompt matters to repetition only.
func NewHistory(prompt, output []int32) *History {
	h := &History{at: make(map[int32]int32, len(prompt))}
	for _, t := range prompt {
		h.place(t)
	}
	for _, t := range output {
		h.Add(t)
	}
	return h
}

// Add counts a token of the output.
func (h *History) Add(token int32) { h.counts[h.place(token)]++ }

func (h *History) place(token int32) int32 {
	i, ok := h.at[token]
	if !ok {
		i = int32(len(h.tokens))
		h.at[token] = i
		h.tokens, h.counts = append(h.tokens, token), append(h.counts, 0)
	}
	return i
}

// penalize is vLLM's apply_penalties: repetition first, over prompt and output, then
// frequency and presence, over the output.
func (h *History) penalize(logits []float32, p Sampling) {
	for i, token := range h.tokens {
		if int(token) >= len(logits) {
			continue
		}
		l := logits[token]
		if p.repeats() {
			if l > 0 {
				l /= p.Repetition
			} else {
				l *= p.Repetition
			}
		}
		if n := h.counts[i]; n > 0 {
			l -= float32(p.Frequency * float32(n))
			l -= p.Presence
		}
		logits[token] = l
	}
}
