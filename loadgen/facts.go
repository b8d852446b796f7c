package loadgen

import (
	"fmt"
	"runtime"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/telemetry"
	"github.com/llmctl/llmctl/reports/record"
)

// facts is what the load generator knows about its run.
func (r *runner) facts(seen telemetry.Observed) record.Run {
	return record.Run{
		Kind:   "bench",
		Target: record.Target{Endpoint: client.PublicEndpoint(r.o.Client.Endpoint), Model: r.o.Model},
		Environment: record.Environment{
			OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Start: r.start(),
		},
		Window:       r.window(),
		Client:       seen.Client,
		Server:       seen.Server,
		GPUs:         seen.GPUs,
		Interrupted:  r.interrupted.Load(),
		Warnings:     append(seen.Warnings, r.warnings()...),
		ClosedLoop:   !r.open,
		SharedPrefix: r.o.Workload.Shares(),
		Requests:     r.o.Requests,
		Shard:        r.o.Shard,
		Shards:       r.o.Shards,
		StartAt:      r.o.StartAt,
	}
}

// warnings are what a reader has to know that no record says.
func (r *runner) warnings() (found []record.Warning) {
	warn := func(code, format string, args ...any) {
		found = append(found, record.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if why := r.aborted(); why != "" {
		warn(record.Aborted, "%s", why)
	}
	if r.uncounted.Load() {
		warn("due_uncounted", "the client was so far behind that it gave up counting what was due: more was offered, and dropped, than is told here")
	}
	if broken := r.broken.Load(); broken > 0 {
		warn("sessions_broken", "sessions that ended early because a request of theirs failed or was dropped: %d; their later requests, %d, were never due and are not counted", broken, r.unsent.Load())
	}
	if r.usedUp.Load() && r.endsEarly() {
		warn("workload_ended", "the workload ended before the run should have: all of its sessions were sent by %v", r.end)
	}
	return append(found, r.client.Warnings()...)
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
