package loadgen

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing/cost"
)

// sending is what a sender decides of a request.
type sending struct {
	ID                 int64
	Session            int64
	Turn               int
	Tenant, Class      string
	Group              int
	Scheduled, Sent    time.Duration
	Input, Output      int
	Outcome            record.Outcome
	ScheduledIsUnknown bool
}

// soon lets times differ by what a simulated engine takes at least for its steps.
var soon = gocmp.Comparer(func(a, b time.Duration) bool { return max(a-b, b-a) < time.Microsecond })

// TestSimulatorSendsTheSame: with the same stream, the simulator sends the same
// requests at the same times as the load generator, when the target answers as
// fast, and measures the same window.
func TestSimulatorSendsTheSame(t *testing.T) {
	const answer = 97 * time.Millisecond
	one := profiles.Distribution{Kind: profiles.Fixed, Mean: 1}
	several := profiles.Session{
		Turns: profiles.Distribution{Kind: profiles.Geometric, Mean: 3},
		Think: profiles.Delay{Kind: profiles.Exponential, Mean: 400 * time.Millisecond},
	}
	lengths := profiles.Distribution{Kind: profiles.Uniform, Min: 2, Max: 40}
	poisson := profiles.Arrival{Process: profiles.Poisson, RatePerS: 20}
	leaving := profiles.Cancel{Fraction: 0.3, After: profiles.Delay{Kind: profiles.Uniform, Min: 10 * time.Millisecond, Max: 90 * time.Millisecond}}
	trace := []workload.Session{
		talk(0, 0), talk(0, 0, 300*time.Millisecond, 0), talk(0, 0), talk(200*time.Millisecond, 0), talk(time.Second, 0, 50*time.Millisecond),
	}
	tests := []struct {
		name     string
		workload profiles.Workload
		recorded []workload.Session
		options  Options
	}{
		{name: "poisson by time", workload: profiles.Workload{Arrival: poisson, Input: lengths, Output: lengths, Tenants: 3, Classes: map[string]float64{"a": 1, "b": 2}, Prefix: profiles.Prefix{Groups: 3, Tokens: 5}},
			options: Options{Warmup: time.Second, Duration: 5 * time.Second}},
		{name: "poisson by number", workload: profiles.Workload{Arrival: poisson, Input: lengths, Output: lengths}, options: Options{Warmup: time.Second, Requests: 50}},
		{name: "sessions", workload: profiles.Workload{Arrival: poisson, Input: lengths, Output: one, Session: several}, options: Options{Duration: 5 * time.Second}},
		{name: "sessions whose users leave", workload: profiles.Workload{Arrival: poisson, Input: lengths, Output: one, Session: several, Cancel: leaving}, options: Options{Requests: 60}},
		{name: "closed loop by time", workload: profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Closed, Concurrency: 4, RampUp: 131 * time.Millisecond}, Input: lengths, Output: one, Session: several, Cancel: leaving},
			options: Options{Warmup: 500 * time.Millisecond, Duration: 5 * time.Second}},
		{name: "closed loop by number", workload: profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Closed, Concurrency: 4, RampUp: 131 * time.Millisecond}, Input: lengths, Output: one},
			options: Options{Warmup: 500 * time.Millisecond, Requests: 50}},
		{name: "users", workload: profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Users, Count: 5, RampUp: time.Second}, Input: lengths, Output: one, Session: several, Cancel: leaving},
			options: Options{Duration: 10 * time.Second}},
		{name: "users by number", workload: profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Users, Count: 5, RampUp: time.Second}, Input: lengths, Output: one, Session: several},
			options: Options{Requests: 40}},
		{name: "trace to its end", workload: profiles.Workload{Arrival: traced, Input: lengths, Output: one}, recorded: trace},
		{name: "trace cut short", workload: profiles.Workload{Arrival: traced, Input: lengths, Output: one}, recorded: trace, options: Options{Duration: 600 * time.Millisecond}},
		{name: "trace all at once", workload: profiles.Workload{Arrival: traced, Input: lengths, Output: one}, recorded: trace[:1]},
		{name: "trace under another arrival", workload: profiles.Workload{Arrival: poisson, Input: lengths, Output: one}, recorded: trace, options: Options{Requests: 30}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stream := func() *workload.Stream {
				s, err := workload.New(test.workload, workload.Options{Seed: 7, Recorded: test.recorded})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			o := test.options
			o.Workload = stream()
			server := scripted(&mock.Script{Pieces: []mock.Piece{{At: answer, Data: c("x") + mock.Done}}})
			virtual(t, server, o, func(result *Result) {
				simulated, window := simulate(t, simulator.Config{
					Pools:   []simulator.Pool{{Replicas: 1, Kind: atOnce(answer)}},
					Streams: []*workload.Stream{stream()},
					Warmup:  o.Warmup, Duration: o.Duration, Requests: o.Requests, Drain: time.Minute,
				})
				if len(simulated) == 0 {
					t.Fatal("nothing was sent")
				}
				if diff := gocmp.Diff(sendings(result.Records), simulated, soon); diff != "" {
					t.Errorf("sent (-load generator +simulator):\n%s", diff)
				}
				if diff := gocmp.Diff(result.Run.Window, window, soon); diff != "" {
					t.Errorf("window (-load generator +simulator):\n%s", diff)
				}
			})
		})
	}
}

// atOnce is a replica that answers whole after a time.
func atOnce(answer time.Duration) simulator.Kind {
	return simulator.Kind{
		Device:    &profiles.Accelerator{BandwidthBytesPerS: 1e12, BF16FlopsPerS: 1e15},
		Constants: cost.Constants{RequestS: answer.Seconds()},
		Sched:     sched.Config{MaxNumSeqs: 1 << 12, MaxNumBatchedTokens: 1 << 20, MaxModelLen: 1 << 20},
		Blocks:    1 << 12, BlockSize: 16,
	}
}

func simulate(t *testing.T, config simulator.Config) (all []sending, window record.Window) {
	t.Helper()
	_, err := simulator.Run(t.Context(), config, func(w record.Window) { window = w }, func(r *record.Record) { all = append(all, newSending(r)) })
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b sending) int { return cmp.Compare(a.ID, b.ID) })
	return all, window
}

func sendings(records []*record.Record) (all []sending) {
	for _, r := range byID(records) {
		all = append(all, newSending(r))
	}
	return all
}

func newSending(r *record.Record) sending {
	group, _ := r.PrefixGroup.Value()
	input, _ := r.AskedInput.Value()
	output, _ := r.AskedOutput.Value()
	return sending{
		ID: r.ID, Session: r.Session, Turn: r.Turn, Tenant: r.Tenant, Class: r.Class, Group: group,
		Scheduled: since(r.Scheduled), Sent: since(r.Sent), Input: input, Output: output, Outcome: r.Outcome,
		ScheduledIsUnknown: !r.Scheduled.Known(),
	}
}
