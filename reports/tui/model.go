package tui

import (
	"math"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/llmctl/llmctl/reports/record"
)

// model is the state of the view. Update does no I/O: it returns commands.
type model struct {
	width, height int
	live          record.Live
	charts        charts
	next          tea.Cmd // waits for the next snapshot
	stop          func()
	stopping      bool // the user asked for the end
	aborted       bool // … and did not wait for it
	ended         bool
}

// charts are the metrics over the time of the run.
type charts struct {
	offered, completed, tokens, inFlight series
	ttft50, ttft99, tpot50, tpot99       series
	queue, running, kv                   series
}

func newModel(next tea.Cmd, stop func()) model {
	return model{width: 80, height: 24, next: next, stop: stop}
}

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return m.next }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case liveMsg:
		if msg.Elapsed < m.live.Elapsed {
			m.charts = charts{} // the next run of a sweep
		}
		m.live = record.Live(msg)
		m.charts.push(m.live)
		return m, m.next
	case endMsg:
		m.ended = true
		return m, tea.Quit
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "ctrl+c":
			return m.leave()
		}
	}
	return m, nil
}

// leave asks for the end of the run, and the second time does not wait for it.
func (m model) leave() (tea.Model, tea.Cmd) {
	if m.stopping {
		m.aborted = true
		return m, tea.Quit
	}
	m.stopping = true
	stop := m.stop
	return m, func() tea.Msg {
		stop()
		return nil
	}
}

// View implements tea.Model.
func (m model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen = true
	v.WindowTitle = "llmctl"
	return v
}

func (c *charts) push(l record.Live) {
	c.offered.push(l.OfferedRPS)
	c.completed.push(l.CompletedRPS)
	c.tokens.push(l.OutputTokensPerS)
	c.inFlight.push(float64(l.InFlight))
	for _, p := range []struct {
		from     record.LivePercentiles
		p50, p99 *series
	}{{l.TTFT, &c.ttft50, &c.ttft99}, {l.TPOT, &c.tpot50, &c.tpot99}} {
		p50, p99 := math.NaN(), math.NaN()
		if p.from.N > 0 {
			p50, p99 = p.from.P50.Seconds(), p.from.P99.Seconds()
		}
		p.p50.push(p50)
		p.p99.push(p99)
	}
	queue, running, kv := math.NaN(), math.NaN(), math.NaN()
	if s := l.Server; s != nil {
		queue, running, kv = s.Waiting, s.Running, s.KVUsage
	}
	c.queue.push(queue)
	c.running.push(running)
	c.kv.push(kv)
}

// progress is the share of the run that is done and the time left; ok is false
// when neither is known.
func (m model) progress() (share float64, left time.Duration, ok bool) {
	l := m.live
	switch {
	case l.Total > 0:
		share = min(l.Elapsed.Seconds()/l.Total.Seconds(), 1)
		return share, max(l.Total-l.Elapsed, 0), true
	case l.PlannedRequests > 0:
		done := l.OK + l.Failed + l.Cancelled + l.Dropped
		share = min(float64(done)/float64(l.PlannedRequests), 1)
		if share > 0 {
			left = time.Duration(float64(l.Elapsed) * (1 - share) / share)
		}
		return share, left, share > 0
	}
	return 0, 0, false
}
