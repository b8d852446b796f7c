package workload

import "github.com/llmctl/llmctl/profiles"

// Totals are what the requests of some sessions amount to, for planners who see
// requests and not conversations. Element i of each list is of request i.
type Totals struct {
	Sessions int
	Input    []int // tokens of the whole prompt: all that has been said in the session, and the new message
	Cached   []int // tokens of Input that a prefix cache without limits holds
	Output   []int // tokens asked for
}

// HashTokens is how many tokens of a prompt one of Turn.Hashes stands for: the
// block of the Mooncake traces (Qin et al., "Mooncake: A KVCache-centric
// Disaggregated Architecture for LLM Serving", 2024, §4).
const HashTokens = 512

// Effective samples the first n sessions of a workload, or of the recorded ones
// as many as there are, and returns what their requests amount to. How sessions
// arrive makes no difference, so that the workload's arrivals may be absent.
//
// A prompt is cached as far as it repeats the session's prompt and answer
// before, or the prefix of its group (of the group's first request too: a server
// that runs has seen it), or the blocks of an earlier recorded prompt; each
// prompt has at least one token that is not. Answers count as the length asked
// for.
func Effective(w profiles.Workload, o Options, n int) (Totals, error) {
	w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 1}
	o.Shard, o.Shards = 0, 0
	s, err := New(w, o)
	if err != nil {
		return Totals{}, err
	}
	if recorded := len(o.Recorded); recorded > 0 {
		n = min(n, recorded)
	}
	totals := Totals{Sessions: n}
	seen := map[uint64]bool{}
	for i := range int64(n) {
		totals.add(s.Session(i), seen)
	}
	return totals, nil
}

func (t *Totals) add(session Session, seen map[uint64]bool) {
	said := 0
	for i := range session.Turns {
		turn := &session.Turns[i]
		input := said + turn.Input
		cached := max(said, held(turn.Hashes, seen))
		if turn.Group != NoGroup {
			cached = max(cached, turn.Prefix)
		}
		t.Input = append(t.Input, input)
		t.Cached = append(t.Cached, max(0, min(cached, input-1)))
		t.Output = append(t.Output, turn.Output)
		said = input + turn.Output
	}
}

// held is how many tokens at the beginning of a prompt are in blocks that have
// been seen. It marks all of the prompt's as seen.
func held(hashes []uint64, seen map[uint64]bool) int {
	blocks := 0
	for i, h := range hashes {
		if blocks == i && seen[h] {
			blocks++
		}
		seen[h] = true
	}
	return blocks * HashTokens
}
