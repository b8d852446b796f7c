package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/page"
	"github.com/llmctl/llmctl/internal/openai"
)

const (
	defaultRefresh = 5    // seconds
	longestRefresh = 3600 // seconds
	shownRequests  = 50
	mostRequests   = 1000
)

// showPage is GET /admin.
func (g *Gateway) showPage(w http.ResponseWriter, r *http.Request) {
	refresh, ok := parameter(w, r, "refresh", defaultRefresh, 0, longestRefresh)
	if !ok {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", page.Policy)
	private(h)
	view := viewOf(g.State(r.Context(), shownRequests))
	view.Refresh = refresh
	_ = page.Write(w, view) // a browser that left is no concern
}

// showState is GET /admin/state.
func (g *Gateway) showState(w http.ResponseWriter, r *http.Request) {
	answerJSON(w, g.State(r.Context(), shownRequests))
}

// showLive is GET /admin/live.
func (g *Gateway) showLive(w http.ResponseWriter, r *http.Request) {
	n, ok := parameter(w, r, "limit", shownRequests, 1, mostRequests)
	if !ok {
		return
	}
	answerJSON(w, struct {
		Schema string    `json:"schema"`
		Time   time.Time `json:"time"`
		Live
	}{liveSchema, g.now().UTC(), g.live(n)})
}

// parameter reads a whole number of the query, or answers what is wrong with it.
func parameter(w http.ResponseWriter, r *http.Request, name string, usual, least, most int) (n int, ok bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		openai.WriteError(w, http.StatusBadRequest, openai.NewError("invalid_request_error",
			fmt.Sprintf("%s must be a whole number from %d to %d", name, least, most), name, ""))
		return 0, false
	}
	return n, true
}

// private keeps what tells of tenants out of caches, other pages and addresses.
func private(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

func answerJSON(w http.ResponseWriter, document any) {
	private(w.Header())
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // a client that left is no concern
}

// viewOf writes a picture of the gateway as people read it.
func viewOf(s State) page.View {
	v := page.View{
		Now: s.Time, Version: s.Version, Totals: totalsView(s.Totals), Serving: s.Live.Serving,
		Config: page.Config{Source: s.Config.Source, Hash: s.Config.Hash, Refused: s.Config.Refused, Restart: s.Config.RestartNeeded},
	}
	if s.Config.Loaded != nil {
		v.Config.Loaded = *s.Config.Loaded
	}
	for _, t := range s.Tenants {
		tenant := page.Tenant{Name: t.Name, Keys: t.Keys}
		for _, l := range t.Limits {
			tenant.Limits = append(tenant.Limits, limitView(l))
		}
		v.Tenants = append(v.Tenants, tenant)
	}
	for _, m := range s.Models {
		model := page.Model{Alias: m.Alias}
		for _, t := range m.Targets {
			model.Targets = append(model.Targets, targetView(t))
		}
		v.Models = append(v.Models, model)
	}
	for _, e := range s.Endpoints {
		v.Endpoints = append(v.Endpoints, endpointView(e))
	}
	for _, q := range s.Queues {
		if q.Waiting > 0 {
			v.Queues = append(v.Queues, page.Queue{Provider: q.Provider, Class: q.Class, Waiting: q.Waiting})
		}
	}
	for _, r := range s.Live.Requests {
		v.Requests = append(v.Requests, page.Request{
			ID: r.ID, Tenant: r.Tenant, Alias: r.Alias, Deployment: r.Deployment, Phase: r.Phase, Age: r.Age, Output: r.Output,
		})
	}
	return v
}

func totalsView(t Totals) []page.Total {
	today := "unknown"
	if t.TodayUSD != nil {
		today = dollars(*t.TodayUSD)
	}
	return []page.Total{
		{Name: "requests", Value: short(t.Requests)},
		{Name: "in flight", Value: grouped(t.InFlight)},
		{Name: "upstream errors", Value: grouped(t.Errors), Bad: t.Errors > 0},
		{Name: "turned away by limits", Value: grouped(t.Limited)},
		{Name: "input tokens", Value: short(t.InputTokens)},
		{Name: "output tokens", Value: short(t.OutputTokens)},
		{Name: "spent today (UTC)", Value: today},
		{Name: "answers from caches", Value: grouped(t.CacheHits)},
		{Name: "saved", Value: dollars(t.SavedUSD)},
	}
}

// resources are what people call them.
var resources = map[limit.Resource]string{
	limit.Requests: "requests/min", limit.InputTokens: "input tokens/min", limit.OutputTokens: "output tokens/min",
	limit.Slots: "at once", limit.DayBudget: "today", limit.MonthBudget: "this month",
}

func limitView(l LimitState) page.Limit {
	write := grouped
	if l.Resource == limit.DayBudget || l.Resource == limit.MonthBudget {
		write = dollars
	}
	v := page.Limit{Key: l.Key, Resource: resources[l.Resource], Left: "unknown", Limit: write(l.Limit)}
	if l.Left != nil {
		v.Left, v.Share, v.Known = write(*l.Left), *l.Left/l.Limit, true
	}
	return v
}

func targetView(t TargetState) page.Target {
	v := page.Target{Name: t.Deployment, Role: t.Arm, Requests: int64(t.Attempts), Errors: int64(t.Errors)}
	if t.Share != nil {
		v.Share = fmt.Sprintf("%.3g %%", 100**t.Share)
	}
	if t.Flag != "" {
		v.Role += ", flag " + t.Flag
	}
	v.TTFT, v.TPOT = milliseconds(t.TTFT), milliseconds(t.TPOT)
	return v
}

func endpointView(e EndpointState) page.Endpoint {
	v := page.Endpoint{Provider: e.Provider, URL: e.URL, State: string(e.State), Full: e.Full, InFlight: e.InFlight}
	if e.Waiting != nil {
		v.Waiting = grouped(*e.Waiting)
	}
	if e.KVUsage != nil {
		v.KVUsage = fmt.Sprintf("%.0f %%", 100**e.KVUsage)
	}
	if e.MetricsAge != nil {
		v.Age = fmt.Sprintf("%.1f s", *e.MetricsAge)
	}
	return v
}

// grouped writes a count with its thousands apart.
func grouped(v float64) string {
	text := strconv.FormatFloat(math.Abs(math.Trunc(v)), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if v <= -1 {
		text = "−" + text
	}
	return text
}

// short is grouped with three digits that count, for what grows without end.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if v >= 10*unit.size {
			return fmt.Sprintf("%.1f %s", v/unit.size, unit.name)
		}
	}
	return grouped(v)
}

// dollars writes an amount: in cents, and small ones with two digits that count.
func dollars(v float64) string {
	text := "$" + strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	if a := math.Abs(v); a > 0 && a < 0.1 {
		text = "$" + strconv.FormatFloat(a, 'g', 2, 64)
	}
	if v < 0 {
		text = "−" + text
	}
	return text
}

func milliseconds(s *float64) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%.3g ms", 1000**s)
}
