package sizing

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

const (
	// sampledRequests of a workload of sessions stand for all: their 99th
	// percentile has 1,000 above it, and is known to about a percent.
	sampledRequests = 100_000
	fewestSessions  = 10_000
	// mostRequests bounds what sessions of very many turns take, which is time; a
	// long one has its own spread in it, so that fewer of them do.
	mostRequests    = 400_000
	longestSessions = 20 // at least, however long they are
	sampleSeed      = 1
)

// sampled are requests of sessions as a server sees them: one by one, each with
// all that the session said before.
type sampled struct {
	prompts, outputs profiles.Distribution // of requests
	kept             []share               // of the prompts of each of pointSlices
	requests         int
	turns            float64 // requests per session, mean
	recorded         bool    // in a trace
}

// share is a part of prompt tokens: what a cache without limits has of them, and
// what of that other sessions share.
type share struct{ cached, common float64 }

type sampledRequest struct {
	prompt float64 // tokens
	cached float64 // of prompt, what a cache without limits has
	common float64 // of cached, what other sessions share
}

// samples keeps what sampling a workload gave: a search asks for it for each
// configuration.
type samples struct {
	once sync.Once
	of   *sampled
	err  error
}

func (c *samples) get(w profiles.Workload, recorded []workload.Session) (*sampled, error) {
	c.once.Do(func() { c.of, c.err = sample(w, recorded) })
	return c.of, c.err
}

// sample draws sessions of a workload, or takes the recorded ones.
func sample(w profiles.Workload, recorded []workload.Session) (*sampled, error) {
	turns := w.Session.MeanTurns()
	n := max(fewestSessions, int(sampledRequests/turns))
	n = max(longestSessions, min(n, int(mostRequests/turns)))
	if len(recorded) > 0 {
		n = len(recorded)
	}
	totals, err := workload.Effective(w, workload.Options{Seed: sampleSeed, Recorded: recorded}, n)
	if err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	requests, outputs := make([]sampledRequest, len(totals.Input)), make([]float64, len(totals.Input))
	for i, prompt := range totals.Input {
		r := sampledRequest{prompt: max(1, float64(prompt)), cached: float64(totals.Cached[i])}
		if w.Prefix.Groups > 0 {
			// A session's first prompt begins with the prefix of a group, and all
			// later ones with the first.
			r.common = min(r.cached, float64(w.Prefix.Tokens))
		}
		requests[i], outputs[i] = r, max(1, float64(totals.Output[i]))
	}
	slices.SortFunc(requests, func(a, b sampledRequest) int {
		return cmp.Or(cmp.Compare(a.prompt, b.prompt), cmp.Compare(a.cached, b.cached), cmp.Compare(a.common, b.common))
	})
	slices.Sort(outputs)
	prompts := make([]float64, len(requests))
	for i, r := range requests {
		prompts[i] = r.prompt
	}
	s := &sampled{
		prompts: lengthsOf(prompts), outputs: lengthsOf(outputs), requests: len(requests),
		turns: float64(len(requests)) / float64(totals.Sessions), recorded: len(recorded) > 0,
	}
	for _, at := range pointSlices() {
		s.kept = append(s.kept, keptOf(requests, at))
	}
	return s, nil
}

// mostValues of a distribution are enough for its points (lengths.points), and a
// hundredth of the time of all that were sampled.
const mostValues = 2000

// lengthsOf is the distribution of ascending values: of the means of equal parts of
// them when they are many, which keeps the mean.
func lengthsOf(values []float64) profiles.Distribution {
	if len(values) > mostValues {
		parts := make([]float64, mostValues)
		for i := range parts {
			part := values[i*len(values)/mostValues : (i+1)*len(values)/mostValues]
			for _, v := range part {
				parts[i] += v / float64(len(part))
			}
		}
		values = parts
	}
	return profiles.Distribution{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: values}}
}

// keptOf is what requests in a part of the distribution have cached.
func keptOf(requests []sampledRequest, at slice) share {
	n := float64(len(requests))
	low := min(int(at.low*n), len(requests)-1)
	high := max(low+1, min(int(at.high*n+0.5), len(requests)))
	prompt, kept := 0.0, share{}
	for _, r := range requests[low:high] {
		prompt += r.prompt
		kept.cached += r.cached
		kept.common += r.common
	}
	return share{kept.cached / prompt, kept.common / prompt}
}

// mix reads the workload with the share resident of its shared prefixes in the
// cache. What a session said before is there if the engine keeps prompts at all.
func (s *situation) mix(resident float64, limit int) mix {
	if s.sampled == nil {
		return newMix(s.workload, s.inputs.BlockSize, resident, limit)
	}
	block := s.inputs.BlockSize
	return mixOf(s.workload, limit, func(i int, tokens float64) (cached, common, shared float64) {
		of := s.sampled.kept[i]
		shared = wholeBlocks(min(max(0, tokens-1), of.cached*tokens), block)
		if !s.inputs.PrefixCaching {
			return 0, 0, shared
		}
		prefix := wholeBlocks(min(shared, of.common*tokens), block)
		return shared - prefix*(1-resident), prefix * resident, shared
	})
}

// flattenSessions makes a workload of sessions, or of a trace, one of single
// requests.
func (s *situation) flattenSessions(w profiles.Workload, r Request) (profiles.Workload, error) {
	if w.Session.Single() && w.Trace == (profiles.Trace{}) {
		return w, nil
	}
	cache := r.samples
	if cache == nil {
		cache = &samples{}
	}
	var err error
	if s.sampled, err = cache.get(w, r.Recorded); err != nil {
		return w, err
	}
	s.think = cmp.Or(s.think, w.Session.Think.Average())
	w.Input, w.Output = s.sampled.prompts, s.sampled.outputs
	w.Session, w.Trace = profiles.Session{}, profiles.Trace{}
	return w, nil
}

// warnOfSessions says what the plan makes of sessions.
func (s *situation) warnOfSessions(m mix) {
	if s.sampled == nil {
		return
	}
	if s.sampled.recorded {
		s.warn("trace", "lengths are those of the %s recorded requests, prompts of %s tokens on average, of which %.0f%% are cached, as far as their sessions and blocks repeat: recorded texts that begin alike by chance are not known",
			units.Count(int64(s.sampled.requests)), units.Number(m.input), 100*m.hitRate())
	}
	if s.sampled.turns > 1 && !s.inputs.PrefixCaching {
		s.warn("sessions", "a session has %s requests on average, and each computes all that was said before: --prefix-caching on would spare it", units.Number(s.sampled.turns))
	} else if s.sampled.turns > 1 {
		s.warn("sessions", "a session has %s requests on average, whose prompts repeat what was said: %.0f%% of the prompt tokens are planned as cached, which takes a router that sends a session to the replica that has it",
			units.Number(s.sampled.turns), 100*m.hitRate())
	}
}

// warnOfIdleSessions looks whether what sessions said stays cached while their
// users think. By Little's law as many think at once as requests end per second,
// but for the last of a session, times the time to think.
func (s *situation) warnOfIdleSessions(p *Plan, l layout, m mix) {
	if s.sampled == nil || s.think == 0 || !s.inputs.PrefixCaching {
		return
	}
	later := 1 - 1/s.sampled.turns
	thinking := p.Performance.RPS * later * s.think.Seconds()
	need := thinking * l.average(m.input+m.output)
	room := idleBlocks * float64(p.Memory.KVCacheBlocks*int64(s.inputs.DataParallel))
	if need > room {
		s.warn("session-cache", "about %s sessions of a replica think at once, and what they said takes %.1f times the blocks that are idle: fewer of the prompts will be cached than planned; plan with --prefix-caching off for the worst, or take more replicas",
			units.Number(thinking), need/room)
	}
}
