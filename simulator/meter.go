package simulator

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// meter samples the replicas at even times, as a scraper of metrics pages would.
// Over a long run it drops every other sample and goes on half as often, so that
// their number is bounded.
type meter struct {
	every   time.Duration
	rounds  int
	samples []record.ServerSample
}

const (
	firstInterval = 100 * time.Millisecond
	mostRounds    = 1024
)

func newMeter(s *sim) *meter {
	m := &meter{every: firstInterval}
	s.agenda.plan(0, m)
	return m
}

func (m *meter) happen(s *sim) {
	if s.ended >= 0 {
		return
	}
	m.round(s)
	if m.rounds++; m.rounds == mostRounds {
		m.thin()
	}
	s.agenda.plan(s.now-s.now%m.every+m.every, m)
}

// round samples every replica that has a metrics page.
func (m *meter) round(s *sim) {
	for _, p := range s.front.replicas {
		if p.tells() {
			m.see(s, p)
		}
	}
}

// thin drops every other round, but nothing that was sampled in between.
func (m *meter) thin() {
	kept := m.samples[:0]
	for i := range m.samples {
		if m.samples[i].At%m.every != 0 || m.samples[i].At%(2*m.every) == 0 {
			kept = append(kept, m.samples[i])
		}
	}
	m.samples, m.rounds, m.every = kept, (m.rounds+1)/2, 2*m.every
}

// page names the samples of a replica, where there are several.
func (p *replica) page() string {
	if !p.s.front.several() {
		return ""
	}
	return fmt.Sprintf("replica %d", p.index)
}

// sample is what the metrics page of a replica would say.
func (p *replica) sample(now time.Duration) record.ServerSample {
	v := record.UnknownSample()
	st := p.stats()
	v.At, v.Page = now, p.page()
	v.Running, v.Waiting, v.KVUsage = float64(st.Running), float64(st.Waiting), st.Usage
	v.Preemptions = float64(st.Preemptions)
	v.PrefixQueries, v.PrefixHits = float64(st.PrefixQueries), float64(st.PrefixHits)
	if p.kind.Serving.Speculative.Tokens > 0 {
		v.DraftTokens, v.AcceptedTokens = float64(st.Drafts), float64(st.AcceptedDrafts)
	}
	v.PromptTokens, v.GenerationTokens = p.counts.prompt, p.counts.generated
	v.Steps, v.StepTokens = p.account.steps, p.account.tokens
	return v
}
