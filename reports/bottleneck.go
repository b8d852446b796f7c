package reports

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

// Bottleneck is what the replicas' time went to, or what requests waited for.
type Bottleneck struct {
	Resource string `json:"resource"`
	// Of is what Share is a share of: "time", that all replicas were alive, or
	// "waiting", the time in which requests waited for this, of the same, or, where
	// they waited at the gateway, of the window.
	Of       string  `json:"of"`
	Share    float64 `json:"share"`
	Evidence string  `json:"evidence,omitempty"`
}

// What the time of replicas goes to, and what requests wait for.
const (
	onMemory      = "memory bandwidth"
	onCompute     = "compute"
	onFixed       = "fixed cost of steps"
	onCollectives = "collectives"
	onNothing     = "idle"
	forSlots      = "max_num_seqs"
	forBlocks     = "KV blocks"
	forBudget     = "max_num_batched_tokens"
	forBatch      = "the end of the batch"
	forReplica    = "a replica that takes it"
	forStart      = "a replica that starts"

	ofTime    = "time"
	ofWaiting = "waiting"
)

// bottlenecks are the shares of all replicas together, the largest first and those
// of time before those of waiting. What is below a thousandth is left out.
func bottlenecks(all []record.Spent, r *Report) (out []Bottleneck) {
	var sum record.Spent
	for _, s := range all {
		sum.Alive += s.Alive
		sum.Busy += s.Busy
		sum.Memory += s.Memory
		sum.Compute += s.Compute
		sum.Fixed += s.Fixed
		sum.Collectives += s.Collectives
		sum.HeldSlots += s.HeldSlots
		sum.HeldBlocks += s.HeldBlocks
		sum.HeldBudget += s.HeldBudget
		sum.HeldBatch += s.HeldBatch
		sum.HeldStart += s.HeldStart
		sum.HeldGateway, sum.HeldGatewayStart = s.HeldGateway, s.HeldGatewayStart // one gateway for all
		sum.Steps += s.Steps
		sum.Tokens += s.Tokens
	}
	window := time.Duration((r.Window.EndS - r.Window.StartS) * 1e9)
	start, startOf, startSeen := sum.HeldStart, sum.Alive, "in engines, while a replica started"
	if start == 0 || float64(sum.HeldGatewayStart)*float64(sum.Alive) > float64(start)*float64(window) { // the larger share
		start, startOf, startSeen = sum.HeldGatewayStart, window, "in the gateway's queue, while a replica started or none served"
	}
	for _, b := range []struct {
		resource, of string
		took, span   time.Duration
		evidence     string
	}{
		{onMemory, ofTime, sum.Memory, sum.Alive, stepsText(&sum)},
		{onCompute, ofTime, sum.Compute, sum.Alive, stepsText(&sum)},
		{onFixed, ofTime, sum.Fixed, sum.Alive, stepsText(&sum)},
		{onCollectives, ofTime, sum.Collectives, sum.Alive, ""},
		{onNothing, ofTime, sum.Alive - sum.Busy, sum.Alive, ""},
		{forSlots, ofWaiting, sum.HeldSlots, sum.Alive, gaugeText("running", serverGauge(r, func(s *Server) *Gauge { return s.Running }), units.Number)},
		{forBlocks, ofWaiting, sum.HeldBlocks, sum.Alive, gaugeText("KV usage", serverGauge(r, func(s *Server) *Gauge { return s.KVUsage }), percent) + preempted(r.Server)},
		{forBudget, ofWaiting, sum.HeldBudget, sum.Alive, stepsText(&sum)},
		{forBatch, ofWaiting, sum.HeldBatch, sum.Alive, ""},
		{forReplica, ofWaiting, sum.HeldGateway, window, "in the gateway's queue"},
		{forStart, ofWaiting, start, startOf, startSeen},
	} {
		if b.span <= 0 {
			continue
		}
		if share := rounded(float64(b.took) / float64(b.span)); share >= 0.001 {
			out = append(out, Bottleneck{b.resource, b.of, share, b.evidence})
		}
	}
	slices.SortStableFunc(out, func(a, b Bottleneck) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(b.Share, a.Share))
	})
	return out
}

func stepsText(s *record.Spent) string {
	if s.Steps == 0 {
		return ""
	}
	return fmt.Sprintf("steps of %s for %s tokens on average", units.Duration(s.Busy/time.Duration(s.Steps)), units.Number(short(float64(s.Tokens)/float64(s.Steps))))
}

func serverGauge(r *Report, of func(*Server) *Gauge) *Gauge {
	if r.Server == nil {
		return nil
	}
	return of(r.Server)
}

func gaugeText(name string, g *Gauge, text func(float64) string) string {
	if g == nil {
		return ""
	}
	return fmt.Sprintf("%s mean %s max %s", name, text(short(g.Mean)), text(short(g.Max)))
}

func preempted(s *Server) string {
	if s == nil || s.Preemptions == nil || *s.Preemptions == 0 {
		return ""
	}
	return ", " + count(int(*s.Preemptions), "preemption")
}

// bottleneck says in two or three lines what the time went to, what requests waited
// for, and what to try.
func (p *page) bottleneck(all []Bottleneck) {
	var time, waits []string
	for _, b := range all {
		text := b.Resource + " " + percent(shortShare(b.Share))
		if b.Of == ofTime {
			time = append(time, text)
		} else {
			waits = append(waits, fmt.Sprintf("%s in %s", b.Resource, percent(shortShare(b.Share))))
		}
	}
	label := "limit"
	if len(time) > 0 {
		p.field(label, "time went to "+list(time, ", "))
		label = ""
	}
	if i := slices.IndexFunc(all, func(b Bottleneck) bool { return b.Of == ofWaiting }); i >= 0 {
		text := "requests waited for " + list(waits, ", ") + " of the time"
		if all[i].Evidence != "" {
			text += " (" + all[i].Evidence + ")"
		}
		p.field(label, text)
	}
	if advice := remedy(all); advice != "" {
		p.field("", "try "+advice)
	}
}

// shortShare keeps three digits of a share.
func shortShare(v float64) float64 { return rounded(float64(int(float64(v*1000)+0.5)) / 1000) }

const (
	// seldom is the share of the time below which a wait is none to cure.
	seldom = 0.01
	// mostlyIdle is the share of idle time above which there is more than enough.
	mostlyIdle = 0.7
)

// remedy is what to change first.
func remedy(all []Bottleneck) string {
	share := func(resource string) float64 {
		for _, b := range all {
			if b.Resource == resource {
				return b.Share
			}
		}
		return 0
	}
	worst, most := "", seldom
	for _, b := range all {
		if b.Of == ofWaiting && b.Share > most {
			worst, most = b.Resource, b.Share
		}
	}
	switch worst {
	case forBlocks:
		return "more room for the KV cache: more replicas, --kv-dtype fp8, a larger --tp or --gpu-memory-utilization"
	case forSlots:
		if share(onCompute) > share(onMemory) {
			return "more replicas: steps are bound by compute, and a larger --max-num-seqs makes them longer"
		}
		return "a larger --max-num-seqs, which costs TPOT, or more replicas"
	case forBudget:
		if share(onCompute) > share(onMemory) {
			return "more replicas: steps are bound by compute, and a larger --max-num-batched-tokens makes them longer"
		}
		return "more replicas, or a larger --max-num-batched-tokens, which costs ICL"
	case forReplica:
		return "more replicas, or more requests in flight at each"
	case forStart:
		return "replicas that start sooner (autoscale start_delay), more that stay (min), or a lower target"
	case forBatch:
		return "continuous batching"
	}
	switch {
	case share(onNothing) > mostlyIdle:
		return "fewer replicas, or more load: nothing waits"
	case share(onCollectives) > share(onMemory) && share(onCollectives) > share(onCompute):
		return "a smaller --tp with more replicas, or a faster link"
	case share(onFixed) > share(onMemory) && share(onFixed) > share(onCompute):
		return "fewer replicas: the steps are short, and their fixed cost is shared by more requests"
	}
	return ""
}
