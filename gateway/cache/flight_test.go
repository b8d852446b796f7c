package cache

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestEqualRequestsWaitForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flights Flights
		lead, leads := flights.Join(keyOf("k"))
		if !leads {
			t.Fatal("the first does not lead")
		}
		var wg sync.WaitGroup
		want := answerOf(1)
		for range 99 {
			flight, leads := flights.Join(keyOf("k"))
			if leads {
				t.Fatal("a second one leads")
			}
			wg.Go(func() {
				if got := flight.Wait(t.Context()); got != want {
					t.Errorf("got %v", got)
				}
			})
		}
		if _, leads := flights.Join(keyOf("other")); !leads {
			t.Error("another key's first does not lead")
		}
		synctest.Wait()
		lead.Land(want)
		lead.Land(nil) // too late to change anything
		wg.Wait()
		if _, leads := flights.Join(keyOf("k")); !leads {
			t.Error("after the flight another one must begin")
		}
	})
}

func TestTheWorkGoesOnUntilAllWaitersAreGone(t *testing.T) {
	type leaver int
	const leader, follower, none leaver = 0, 1, -1
	for _, test := range []struct {
		name  string
		order []leaver // who leaves, in this order
		alive bool
	}{
		{"nobody leaves", nil, true},
		{"the leader leaves", []leaver{leader}, true},
		{"a follower leaves", []leaver{follower}, true},
		{"the leader leaves, then the followers", []leaver{leader, follower, follower + 1}, false},
		{"the followers leave, then the leader", []leaver{follower, follower + 1, leader}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var flights Flights
				flight, _ := flights.Join(keyOf("k"))
				leave := map[leaver]context.CancelFunc{}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				leave[leader] = cancel
				work, stop := flight.Lead(ctx)
				defer stop()
				var wg sync.WaitGroup
				for i := range leaver(2) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					leave[follower+i] = cancel
					f, _ := flights.Join(keyOf("k"))
					wg.Go(func() { f.Wait(ctx) })
				}
				for _, who := range test.order {
					synctest.Wait()
					if work.Err() != nil {
						t.Fatal("the work ended early")
					}
					leave[who]()
				}
				synctest.Wait()
				if alive := work.Err() == nil; alive != test.alive {
					t.Errorf("the work is alive: %v", alive)
				}
				if _, leads := flights.Join(keyOf("k")); leads == test.alive {
					t.Errorf("the next one leads: %v", leads)
				}
				flight.Land(nil)
				wg.Wait()
			})
		})
	}
}

func TestALeaderLearnsWhetherAnybodyWaits(t *testing.T) {
	var flights Flights
	flight, _ := flights.Join(keyOf("k"))
	work, stop := flight.Lead(t.Context())
	defer stop()
	flights.Join(keyOf("k"))
	for range 2 { // however often it is told
		if !flight.Abandon() || work.Err() != nil {
			t.Error("the follower was forgotten")
		}
	}
	alone, _ := flights.Join(keyOf("alone"))
	work, stop = alone.Lead(t.Context())
	defer stop()
	if alone.Abandon() || work.Err() == nil {
		t.Error("the work goes on for nobody")
	}
}

func TestAFollowerWithoutAnAnswerGoesOnAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flights Flights
		flight, _ := flights.Join(keyOf("k"))
		follower, _ := flights.Join(keyOf("k"))
		time.AfterFunc(time.Second, func() { flight.Land(nil) })
		if got := follower.Wait(t.Context()); got != nil || t.Context().Err() != nil {
			t.Errorf("got %v", got)
		}
	})
}
