package reports

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/reports/record"
)

const ms = time.Millisecond

// request is a record of n tokens, one per event, that is due and sent at at.
func request(at, ttft, gap time.Duration, n int) *record.Record {
	r := &record.Record{
		Scheduled: record.At(at), Sent: record.At(at), Wrote: record.At(at), FirstByte: record.At(at + ttft),
		Input: record.Counted(100), Output: record.Counted(n), TokensSource: record.FromUsage,
		Outcome: record.OK, Attempts: 1, HTTPStatus: 200, FinishReason: "stop",
	}
	chunks := &record.MeasuredChunks{}
	for i := range n {
		chunks.Times = append(chunks.Times, at+ttft+time.Duration(i)*gap)
	}
	r.Chunks = chunks
	last := chunks.Times[n-1]
	r.First, r.FirstVisible = record.At(at+ttft), record.At(at+ttft)
	r.Last, r.Finished, r.Closed = record.At(last), record.At(last), record.At(last)
	return r
}

// with changes a copy of a record.
func with(r *record.Record, change func(*record.Record)) *record.Record {
	c := *r
	change(&c)
	return &c
}

func openRun(end time.Duration) record.Run {
	return record.Run{Kind: "bench", Window: record.Window{End: end}, Client: record.Client{CPUFraction: -1},
		SLO: []record.SLO{{TTFT: 500 * ms, TPOT: 50 * ms, Attainment: 0.99}}}
}

func summary(run record.Run, records ...*record.Record) *Report {
	return Summarize(run, slices.Values(records))
}

func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func TestWindow(t *testing.T) {
	run := openRun(20 * time.Second)
	run.Window.Start = 10 * time.Second
	r := summary(run,
		request(9*time.Second, 2*time.Second, time.Second, 4), // warm-up: tokens at 11, 12, 13, 14
		request(10*time.Second, 100*ms, 10*ms, 10),
		request(20*time.Second, 100*ms, 10*ms, 10), // due at the very end, tokens after it
		request(21*time.Second, 100*ms, 10*ms, 10),
		with(request(19*time.Second, 500*ms, time.Second, 3), func(r *record.Record) { r.Outcome = record.Cut; r.FinishReason = "" }), // 19.5, 20.5, 21.5
	)
	if r.Requests.Scheduled != 3 || r.Requests.OK != 2 || r.Requests.Cut != 1 {
		t.Errorf("requests = %+v, want 3 members, 2 ok and 1 cut", r.Requests)
	}
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"output tokens/s count whoever they belong to", value(r.Rates.OutputTokensPerS), (4 + 10 + 1) / 10.0},
		{"total tokens/s add prompts answered inside", value(r.Rates.TotalTokensPerS), (15 + 3*100) / 10.0},
		{"offered", value(r.Rates.OfferedRPS), 0.3},
		{"sent", value(r.Rates.SentRPS), 0.3},
		{"completed inside", value(r.Rates.CompletedRPS), 0.2},
		{"ttft of members only", float64(r.TTFT.N), 3},
		{"e2e of ok members only", float64(r.E2E.N), 2},
		{"goodput", value(r.SLO.GoodputRPS), 0.2},
	} {
		if math.Abs(tc.got-tc.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", tc.name, tc.got, tc.want)
		}
	}
}

func TestClosedLoop(t *testing.T) {
	run := openRun(10 * time.Second)
	run.ClosedLoop = true
	r := summary(run, with(request(time.Second, 100*ms, 10*ms, 5), func(r *record.Record) { r.Scheduled = 0 }))
	if r.Requests.Scheduled != 1 || r.Rates.OfferedRPS != nil || r.Lag != nil || r.TTFTFromSchedule != nil || r.TTFT == nil {
		t.Errorf("a closed loop has members by Sent and no schedule: %+v, lag %v", r.Requests, r.Lag)
	}
}

// A request belongs to the window in which it was due; in a closed loop, and
// where nothing was due, to the one in which it was sent.
func TestMembership(t *testing.T) {
	moved := func(due, sent time.Duration) *record.Record {
		return with(request(sent, 100*ms, 10*ms, 5), func(r *record.Record) { r.Scheduled = record.At(due) })
	}
	undue := with(request(15*time.Second, 100*ms, 10*ms, 5), func(r *record.Record) { r.Scheduled = 0 })
	for _, tc := range []struct {
		name   string
		closed bool
		record *record.Record
		want   int
	}{
		{"due and sent inside", false, moved(15*time.Second, 15*time.Second), 1},
		{"due inside, sent after it", false, moved(19*time.Second, 21*time.Second), 1},
		{"due before it, sent inside", false, moved(9*time.Second, 11*time.Second), 0},
		{"due inside, never sent", false, &record.Record{Scheduled: record.At(15 * time.Second), Outcome: record.Dropped}, 1},
		{"nothing due, sent inside", false, undue, 1},
		{"closed loop, sent inside", true, undue, 1},
		{"closed loop, sent after it", true, moved(19*time.Second, 21*time.Second), 0},
		{"closed loop, due before it, sent inside", true, moved(9*time.Second, 11*time.Second), 1},
		{"at the start", false, moved(10*time.Second, 10*time.Second), 1},
		{"at the end", false, moved(20*time.Second, 20*time.Second), 1},
		{"just after the end", false, moved(20*time.Second+1, 20*time.Second+1), 0},
		{"just before the start", false, moved(10*time.Second-1, 10*time.Second-1), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := openRun(20 * time.Second)
			run.Window.Start, run.ClosedLoop = 10*time.Second, tc.closed
			r := summary(run, tc.record)
			if r.Requests.Scheduled != tc.want || r.SLO.Counted != tc.want {
				t.Errorf("%d members, %d judged, want %d", r.Requests.Scheduled, r.SLO.Counted, tc.want)
			}
		})
	}
}

func TestAttainment(t *testing.T) {
	good := request(0, 100*ms, 10*ms, 10)
	cut := func(sent, closed time.Duration, output bool) *record.Record {
		r := &record.Record{Scheduled: record.At(sent), Sent: record.At(sent), Closed: record.At(closed), Outcome: record.Cut}
		if output {
			r.First, r.Last, r.Output = record.At(sent+100*ms), record.At(sent+100*ms), record.Counted(1)
		}
		return r
	}
	for _, tc := range []struct {
		name                string
		record              *record.Record
		good, counted, late int
	}{
		{"good", good, 1, 1, 0},
		{"slow first token", request(0, 501*ms, 10*ms, 10), 0, 1, 0},
		{"exactly at the bound", request(0, 500*ms, 50*ms, 10), 1, 1, 0},
		{"slow decode", request(0, 100*ms, 51*ms, 10), 0, 1, 0},
		{"tpot does not apply to one token", request(0, 100*ms, 0, 1), 1, 1, 0},
		{"failed", with(good, func(r *record.Record) { r.Outcome, r.Failure = record.Failed, record.Truncated }), 0, 1, 0},
		{"dropped", &record.Record{Scheduled: record.At(0), Outcome: record.Dropped}, 0, 1, 0},
		{"cut early is left out", cut(0, 400*ms, false), 0, 0, 0},
		{"cut after the bound is late", cut(0, 600*ms, false), 0, 1, 1},
		{"cut after a good first token is left out", cut(0, 5*time.Second, true), 0, 0, 0},
		{"cut without a closing moment runs to the end of the window", with(cut(0, 0, false), func(r *record.Record) { r.Closed = 0 }), 0, 1, 1},
		{"cancelled with a slow first token is late", with(request(0, 501*ms, 10*ms, 10), func(r *record.Record) { r.Outcome = record.Cancelled }), 0, 1, 1},
		{"cancelled by the workload is left out", with(good, func(r *record.Record) { r.Outcome = record.Cancelled }), 0, 0, 0},
		{"cut while decoding slowly is late", with(request(0, 100*ms, 60*ms, 10), func(r *record.Record) { r.Outcome = record.Cut }), 0, 1, 1},
		{"unless its tokens are events", with(request(0, 100*ms, 60*ms, 10), func(r *record.Record) { r.Outcome, r.TokensSource = record.Cut, record.FromChunk }), 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := summary(openRun(10*time.Second), tc.record).SLO
			if s.Good != tc.good || s.Counted != tc.counted || s.Late != tc.late {
				t.Errorf("good %d, counted %d, late %d; want %d, %d, %d", s.Good, s.Counted, s.Late, tc.good, tc.counted, tc.late)
			}
		})
	}
}

func TestClassesHaveTheirOwnObjectives(t *testing.T) {
	run := openRun(10 * time.Second)
	run.SLO = []record.SLO{{Class: "interactive", TTFT: 200 * ms, Attainment: 1}, {Class: "batch", E2E: time.Second, Attainment: 0.5}}
	class := func(r *record.Record, name string) *record.Record {
		return with(r, func(r *record.Record) { r.Class = name })
	}
	s := summary(run,
		class(request(0, 100*ms, 10*ms, 5), "interactive"),
		class(request(0, 300*ms, 10*ms, 5), "batch"),
		class(request(0, 2*time.Second, 10*ms, 5), "batch"),
		class(request(0, 9*time.Second, 10*ms, 5), "other"),
	).SLO
	if s.Counted != 3 || s.Good != 2 || !*s.OK {
		t.Errorf("counted %d, good %d, ok %v; want 3, 2, true", s.Counted, s.Good, *s.OK)
	}
	if got := []float64{value(s.Objectives[0].Attainment), value(s.Objectives[1].Attainment)}; !slices.Equal(got, []float64{1, 0.5}) {
		t.Errorf("attainment by class = %v, want [1 0.5]", got)
	}
}

func TestTokenTimes(t *testing.T) {
	bursts := request(0, 100*ms, 40*ms, 10) // 10 events
	counted := with(bursts, func(r *record.Record) {
		m := *r.Chunks.(*record.MeasuredChunks)
		m.Tokens = slices.Repeat([]int32{4}, 10)
		r.Chunks, r.Output = &m, record.Counted(40)
	})
	unknown := with(bursts, func(r *record.Record) { r.Output = record.Counted(40) })
	gaps := with(counted, func(r *record.Record) { // an event without a token between two with
		m := *r.Chunks.(*record.MeasuredChunks)
		m.Tokens = []int32{1, 0, 2, 1, 1, 1, 1, 1, 1, 1}
		r.Chunks, r.Output = &m, record.Counted(10)
	})
	for _, tc := range []struct {
		name           string
		record         *record.Record
		tpot, icl, itl float64
		itlN, assumed  int
	}{
		{"tokens per event known", counted, 0.010, 0.040, 0.010, 36, 0},
		{"tokens per event unknown", unknown, 0.009230769, 0.040, math.NaN(), 0, 1},
		{"an event without a token", gaps, 0.040, 0.040, 0.040, 9, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := summary(openRun(time.Minute), tc.record)
			if r.TPOT.P50 != tc.tpot || r.ICL.P50 != tc.icl || r.ICL.N != 9 {
				t.Errorf("tpot %v, icl %v of %d; want %v, %v of 9", r.TPOT.P50, r.ICL.P50, r.ICL.N, tc.tpot, tc.icl)
			}
			if (r.ITL == nil) != math.IsNaN(tc.itl) || r.ITL != nil && (r.ITL.P50 != tc.itl || r.ITL.N != tc.itlN) {
				t.Errorf("itl = %+v, want %v of %d", r.ITL, tc.itl, tc.itlN)
			}
			if r.Tokens.FirstEventAssumed != tc.assumed {
				t.Errorf("first event assumed for %d requests, want %d", r.Tokens.FirstEventAssumed, tc.assumed)
			}
			n, _ := tc.record.Output.Value()
			if got := value(r.Rates.OutputTokensPerS) * 60; math.Abs(got-float64(n)) > 1e-6 {
				t.Errorf("%v tokens arrived, want %d", got, n)
			}
		})
	}
}

func TestTokensWithoutChunksAreSpread(t *testing.T) {
	run := openRun(time.Second)
	r := summary(run, with(request(0, 500*ms, 100*ms, 11), func(r *record.Record) { r.Chunks = nil }))
	if got := value(r.Rates.OutputTokensPerS); got != 6 { // 0.5, 0.6, … 1.0 of 0.5 … 1.5
		t.Errorf("output tokens/s = %v, want 6", got)
	}
}

func TestFailuresStayOutOfLatency(t *testing.T) {
	r := summary(openRun(10*time.Second),
		request(0, 100*ms, 10*ms, 10),
		with(request(0, 9*time.Second, 10*ms, 10), func(r *record.Record) { r.Outcome, r.Failure = record.Failed, record.Truncated }))
	if r.TTFT.Max != 0.1 || r.E2E.N != 1 {
		t.Errorf("a failed request is in the latencies: ttft %+v", r.TTFT)
	}
	if r.Requests.Failures[record.Truncated] != 1 || value(r.Requests.FailedShare) != 0.5 {
		t.Errorf("failures = %v, share %v", r.Requests.Failures, value(r.Requests.FailedShare))
	}
}

// Each class is explained by what its requests were told most often.
func TestFailureDetails(t *testing.T) {
	failure := func(class record.Failure, detail string) *record.Record {
		return with(request(0, 100*ms, 10*ms, 2), func(r *record.Record) { r.Outcome, r.Failure, r.Detail = record.Failed, class, detail })
	}
	r := summary(openRun(time.Second), failure("http_400", "b"), failure("http_400", "a"), failure("http_400", "b"),
		failure("http_503", "y"), failure("http_503", "x"), failure(record.TimeoutIdle, "timeout_idle: none within 1s"), failure(record.Truncated, ""))
	want := map[record.Failure]string{"http_400": "b", "http_503": "x", record.TimeoutIdle: "none within 1s"}
	if diff := cmp.Diff(want, r.Requests.FailureDetails); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSteadyWindow(t *testing.T) {
	// Ten requests in flight from 10 s to 90 s; one by one before, none after.
	var records []*record.Record
	for i := range 10 {
		records = append(records, request(time.Duration(i)*time.Second, 100*ms, 100*ms, 800))
	}
	r := summary(openRun(100*time.Second), records...)
	near := func(v *float64, want float64) bool { return math.Abs(value(v)-want) < 0.05 }
	if !near(r.Window.SteadyStartS, 9) || !near(r.Window.SteadyEndS, 80) {
		t.Errorf("steady from %v to %v, want 9 to 80", value(r.Window.SteadyStartS), value(r.Window.SteadyEndS))
	}
	if got := value(r.Rates.SteadyOutputTokensPerS); math.Abs(got-100) > 0.5 {
		t.Errorf("steady output tokens/s = %v, want 100", got)
	}
	if value(r.Rates.OutputTokensPerS) != 80 {
		t.Errorf("output tokens/s = %v, want 80", value(r.Rates.OutputTokensPerS))
	}
	if steadyText(r) == "" {
		t.Error("the steady window differs by 25 % and is not shown")
	}
	if empty := summary(openRun(time.Second)); empty.Window.SteadyStartS != nil {
		t.Error("an empty run has a steady window")
	}
}

func TestTimelineAgreesWithNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl := newTimeline()
		moment := rapid.Int64Range(0, int64(100*time.Second))
		type span struct{ from, to time.Duration }
		var spans []span
		for range rapid.IntRange(1, 30).Draw(t, "spans") {
			a, b := time.Duration(moment.Draw(t, "a")), time.Duration(moment.Draw(t, "b"))
			s := span{min(a, b), max(a, b)}
			spans = append(spans, s)
			tl.inFlight(s.from, s.to)
			tl.output(s.from, 2)
		}
		sum, tokens := 0.0, 0.0
		for i, bin := range tl.bins {
			sum += bin.step
			tokens += bin.output
			start := time.Duration(i) * tl.width()
			want := 0.0
			for _, s := range spans {
				want += float64(max(0, min(s.to, start+tl.width())-max(s.from, start))) / float64(tl.width())
			}
			if got := bin.part + sum; math.Abs(got-want) > 1e-6 {
				t.Fatalf("bin %d of %v: %v in flight, want %v", i, tl.width(), got, want)
			}
		}
		if tokens != float64(2*len(spans)) {
			t.Fatalf("%v tokens, want %v", tokens, 2*len(spans))
		}
	})
}

// TestTimelineKeepsTheLastEdge: a request that ends in the last bin is over when
// the bins are doubled.
func TestTimelineKeepsTheLastEdge(t *testing.T) {
	tl := newTimeline()
	tl.inFlight(0, timelineBins*tl.width()-1)
	tl.inFlight(0, timelineBins*tl.width())
	sum := 0.0
	for _, bin := range tl.bins[:timelineBins/2+2] {
		sum += bin.step
	}
	if sum != 0 {
		t.Errorf("%v in flight after the end", sum)
	}
}

// TestSteadyRateOfShortRuns is T54: requests of 8 s arrive at 10/s for 10 s, so
// that none ends before 8 s; the server serves 10/s all the same.
func TestSteadyRateOfShortRuns(t *testing.T) {
	var records []*record.Record
	for i := range 100 {
		records = append(records, request(time.Duration(i)*100*ms, 4*time.Second, 4*time.Second, 2))
	}
	r := summary(openRun(10*time.Second), records...)
	if got := value(r.Rates.SteadyCompletedRPS); math.Abs(got-10) > 0.6 {
		t.Errorf("%v requests/s in the steady part, want 10", got)
	}
	if full := value(r.Rates.CompletedRPS); full > 3 {
		t.Errorf("%v requests/s ended inside the window, which is why the steady part is looked at", full)
	}
}

// TestSteadyRateOfStall: a server that stops for half of the steady part is not
// faster for it. Two requests are always in flight, those of the first 2 s end late.
func TestSteadyRateOfStall(t *testing.T) {
	records := []*record.Record{request(0, 10*ms, 10*ms, 2)} // it could have ended early: one did
	for i := range 20 {
		at, lasts := time.Duration(i)*100*ms, 2*time.Second
		if i >= 10 {
			at, lasts = time.Second+time.Duration(i)*100*ms, 200*ms
		}
		records = append(records, request(at, lasts/2, lasts/2, 2))
	}
	r := summary(openRun(4*time.Second), records...)
	start, end := value(r.Window.SteadyStartS), value(r.Window.SteadyEndS)
	ends := 0.0
	for _, rec := range records {
		if at, _ := rec.End().Since(); at.Seconds() >= start && at.Seconds() <= end {
			ends++
		}
	}
	if got, want := value(r.Rates.SteadyCompletedRPS), ends/(end-start); math.Abs(got-want) > 0.2*want {
		t.Errorf("%v requests/s in the steady part from %v to %v, in which %v ended", got, start, end, ends)
	}
}

// TestSteadyWindowOfDrain is T53: 64 in flight, 200 requests; the last wave, of
// eight, is not steady.
func TestSteadyWindowOfDrain(t *testing.T) {
	run := openRun(4 * time.Second)
	run.ClosedLoop = true
	var records []*record.Record
	for i := range 200 {
		records = append(records, with(request(time.Duration(i/64)*time.Second, 400*ms, 500*ms, 2), func(r *record.Record) { r.Scheduled = 0 }))
	}
	r := summary(run, records...)
	if start, end := value(r.Window.SteadyStartS), value(r.Window.SteadyEndS); start > 0.01 || math.Abs(end-2.9) > 0.01 {
		t.Errorf("steady from %v to %v, want 0 to 2.9", value(r.Window.SteadyStartS), value(r.Window.SteadyEndS))
	}
	if got := value(r.Rates.SteadyOutputTokensPerS); math.Abs(got-320/2.9) > 1 {
		t.Errorf("%v output tokens/s in the steady part, want 320 in 2.9 s: 64 more come at its very end", got)
	}
}
