package loadgen

import (
	"fmt"
	"runtime"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/reports/record"
)

// facts is what the load generator knows about its run.
func (r *runner) facts(health record.Client, server []record.ServerSample, warnings []record.Warning) record.Run {
	return record.Run{
		Kind:   "bench",
		Target: record.Target{Endpoint: client.PublicEndpoint(r.o.Client.Endpoint), Model: r.o.Model},
		Environment: record.Environment{
			OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Start: r.start,
		},
		Window:       record.Window{Start: min(r.o.Warmup, r.end), End: r.end},
		Client:       health,
		Server:       server,
		Interrupted:  r.interrupted.Load(),
		Warnings:     append(warnings, r.warnings()...),
		ClosedLoop:   !r.open,
		SharedPrefix: r.o.Workload.Shares(),
		Shard:        r.o.Shard,
		Shards:       r.o.Shards,
		StartAt:      r.o.StartAt,
	}
}

// warnings are what a reader has to know that no record says.
func (r *runner) warnings() (found []record.Warning) {
	add := func(code, format string, args ...any) {
		found = append(found, record.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if why := r.aborted(); why != "" {
		add(record.Aborted, "%s", why)
	}
	if r.client.UsageRefused() {
		add("usage_refused", "the server refuses stream_options.include_usage, so output tokens are counted in events")
	}
	if broken := r.broken.Load(); broken > 0 {
		add("sessions_broken", "sessions that ended early because a request of theirs failed or was dropped: %d; their later requests, %d, were never due and are not counted", broken, r.unsent.Load())
	}
	if r.usedUp.Load() && r.endsEarly() {
		add("workload_ended", "the workload ended before the run should have: all of its sessions were sent by %v", r.end)
	}
	return found
}

// endsEarly reports whether the run fell short of what bounds it.
func (r *runner) endsEarly() bool {
	switch r.bounded() {
	case byTime:
		return r.end < r.planned() && !r.interrupted.Load() && r.aborted() == ""
	case byCount:
		return r.measured.Load() < int64(r.o.Requests) && !r.interrupted.Load() && r.aborted() == ""
	default:
		return false
	}
}
