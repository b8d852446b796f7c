package record

import (
	"testing"
	"time"
)

func TestDerived(t *testing.T) {
	ms := func(n int) Moment { return At(time.Duration(n) * time.Millisecond) }
	// 10 events of 4 tokens, 40 ms apart: 360 ms for 36 tokens after the first event.
	bursts := &Record{Scheduled: ms(0), Sent: ms(5), First: ms(105), FirstVisible: ms(145), Last: ms(465), Closed: ms(470), Output: Counted(40)}
	m := &MeasuredChunks{}
	for i := range 10 {
		m.Times = append(m.Times, time.Duration(105+40*i)*time.Millisecond)
		m.Tokens = append(m.Tokens, 4)
	}
	bursts.Chunks = m
	unknown := *bursts
	unknown.Chunks = &MeasuredChunks{Times: m.Times}
	one := &Record{Sent: ms(0), First: ms(10), Last: ms(10), Output: Counted(1)}
	none := &Record{Scheduled: ms(0), Outcome: Dropped}

	type metric func(*Record) (time.Duration, bool)
	absent := time.Duration(-1)
	for _, tc := range []struct {
		name   string
		record *Record
		metric metric
		want   time.Duration
	}{
		{"ttft", bursts, (*Record).TTFT, 100 * time.Millisecond},
		{"ttft from schedule", bursts, (*Record).TTFTFromSchedule, 105 * time.Millisecond},
		{"ttfo", bursts, (*Record).TTFO, 140 * time.Millisecond},
		{"e2e", bursts, (*Record).E2E, 460 * time.Millisecond},
		{"e2e to close", bursts, (*Record).E2EToClose, 465 * time.Millisecond},
		{"lag", bursts, (*Record).Lag, 5 * time.Millisecond},
		{"tpot with known first event", bursts, (*Record).TPOT, 10 * time.Millisecond},
		{"tpot with unknown first event", &unknown, (*Record).TPOT, 360 * time.Millisecond / 39},
		{"tpot of one token", one, (*Record).TPOT, absent},
		{"ttft of one token", one, (*Record).TTFT, 10 * time.Millisecond},
		{"ttft of a dropped request", none, (*Record).TTFT, absent},
		{"lag of a dropped request", none, (*Record).Lag, absent},
		{"e2e of a dropped request", none, (*Record).E2E, absent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := tc.metric(tc.record)
			if !ok {
				got = absent
			}
			if got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if _, known := unknown.FirstTokens(); known {
		t.Error("tokens of the first event are known, though the server did not say")
	}
}

func TestListFailures(t *testing.T) {
	classes := map[Failure]int{HTTPFailure(429): 1200, Truncated: 3, Connect: 3, NoOutput: 1}
	for limit, want := range map[int]string{
		9: "1,200 http_429, 3 connect, 3 truncated, 1 no_output",
		2: "1,200 http_429, 3 connect, …",
	} {
		if got := ListFailures(classes, limit); got != want {
			t.Errorf("ListFailures(%d) = %q, want %q", limit, got, want)
		}
	}
}
