package record

import (
	"testing"
	"time"
)

func TestStepsForget(t *testing.T) {
	var s Steps
	var told []int
	s.OnForget = func(before int) {
		told = append(told, before)
		if got := s.End(before - 1); got != time.Duration(before-1) {
			t.Errorf("step %d ended at %d when it was about to be forgotten", before-1, got)
		}
	}
	const n = 100_000
	for i := range n {
		if got := s.Add(time.Duration(i)); got != i {
			t.Fatalf("step %d has number %d", i, got)
		}
		s.Forget(i - 100)
		if kept := s.Next() - s.First(); kept > 2*forgetAtOnce {
			t.Fatalf("%d steps are kept of the last 100", kept)
		}
	}
	if len(told) == 0 || told[len(told)-1] != s.First() {
		t.Errorf("told of %v, the first kept is %d", told, s.First())
	}
	if s.Next() != n || s.End(n-1) != n-1 {
		t.Errorf("next %d, last end %d", s.Next(), s.End(n-1))
	}
	for _, tc := range []struct{ moment, want int }{{0, s.First()}, {n - 50, n - 50}, {n - 1, n - 1}, {n, n}} {
		if got := s.From(time.Duration(tc.moment)); got != tc.want {
			t.Errorf("from %d on: step %d, want %d", tc.moment, got, tc.want)
		}
	}
}
