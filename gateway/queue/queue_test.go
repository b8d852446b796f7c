package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drain pops all that wait.
func drain(q *Queue[string]) string {
	var order []string
	for v, ok := q.Pop(); ok; v, ok = q.Pop() {
		order = append(order, v)
	}
	return strings.Join(order, " ")
}

func TestOrder(t *testing.T) {
	type push struct {
		tenant   string
		priority int
		cost     int64
		name     string
	}
	tests := []struct {
		name   string
		bounds Bounds
		pushes []push
		shed   string
		want   string
	}{
		{"one tenant: first come, first served", Bounds{}, []push{{"a", 0, 9, "a1"}, {"a", 0, 1, "a2"}, {"a", 0, 5, "a3"}}, "", "a1 a2 a3"},
		{"a newcomer does not wait behind a long queue", Bounds{}, []push{{"a", 0, 10, "a1"}, {"a", 0, 10, "a2"}, {"a", 0, 10, "a3"}, {"b", 0, 10, "b1"}}, "", "a1 b1 a2 a3"},
		{"the same tokens, not the same number of requests", Bounds{}, []push{{"a", 0, 30, "a1"}, {"a", 0, 30, "a2"}, {"b", 0, 10, "b1"}, {"b", 0, 10, "b2"}, {"b", 0, 10, "b3"}, {"b", 0, 10, "b4"}}, "", "b1 b2 a1 b3 b4 a2"},
		{"urgent ones first, however many", Bounds{}, []push{{"a", 10, 1, "a1"}, {"b", -1, 99, "b1"}, {"b", -1, 99, "b2"}, {"a", 0, 1, "a2"}}, "", "b1 b2 a2 a1"},
		{"no cost counts as a token", Bounds{}, []push{{"a", 0, 0, "a1"}, {"a", 0, -5, "a2"}, {"b", 0, 1, "b1"}}, "", "a1 b1 a2"},

		{"full: the newest is shed", Bounds{All: 2}, []push{{"a", 0, 1, "a1"}, {"a", 0, 1, "a2"}, {"a", 0, 1, "a3"}}, "a3", "a1 a2"},
		{"full: the least urgent is shed", Bounds{All: 2}, []push{{"a", 1, 1, "a1"}, {"a", 2, 1, "a2"}, {"a", 0, 1, "a3"}}, "a2", "a3 a1"},
		{"full: of those who would go last", Bounds{All: 2}, []push{{"a", 0, 9, "a1"}, {"a", 0, 9, "a2"}, {"b", 0, 1, "b1"}}, "a2", "b1 a1"},
		{"what was shed costs its tenant nothing", Bounds{All: 1}, []push{{"a", 0, 50, "a1"}, {"a", 0, 50, "a2"}}, "a2", "a1"},
		{"a priority's own bound", Bounds{Priority: map[int]int{7: 1}}, []push{{"a", 7, 1, "a1"}, {"a", 9, 1, "a2"}, {"a", 9, 1, "a3"}, {"b", 7, 1, "b1"}}, "b1", "a1 a2 a3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := New[string](test.bounds)
			var shed []string
			for _, p := range test.pushes {
				if _, s := q.Push(p.name, Item{Tenant: p.tenant, Priority: p.priority, Cost: p.cost}); s != nil {
					shed = append(shed, s.Value)
				}
			}
			if got := strings.Join(shed, " "); got != test.shed {
				t.Errorf("shed %q, want %q", got, test.shed)
			}
			if got := drain(q); got != test.want {
				t.Errorf("order %q, want %q", got, test.want)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	q := New[string](Bounds{})
	_, _ = q.Push("a1", Item{Tenant: "a", Cost: 10})
	a2, _ := q.Push("a2", Item{Tenant: "a", Cost: 10})
	if !q.Remove(a2) || q.Remove(a2) || q.Len() != 1 {
		t.Fatalf("removing a request twice; %d wait", q.Len())
	}
	_, _ = q.Push("b1", Item{Tenant: "b", Cost: 10})
	_, _ = q.Push("b2", Item{Tenant: "b", Cost: 10})
	_, _ = q.Push("a3", Item{Tenant: "a", Cost: 10}) // in the place of a2
	if got := drain(q); got != "a1 b1 b2 a3" {
		t.Errorf("order %q", got)
	}
}

// Who used an idle service owes nothing to those who come later.
func TestNoDebtFromIdleTimes(t *testing.T) {
	q := New[string](Bounds{})
	for range 100 {
		_, _ = q.Push("a", Item{Tenant: "a", Cost: 1000})
		drain(q)
	}
	_, _ = q.Push("a", Item{Tenant: "a", Cost: 10})
	_, _ = q.Push("b1", Item{Tenant: "b", Cost: 10})
	_, _ = q.Push("b2", Item{Tenant: "b", Cost: 10})
	if got := drain(q); got != "a b1 b2" {
		t.Errorf("order %q", got)
	}
}

// While two tenants both wait, what they are served differs by no more than one
// largest request of each (Golestani's bound).
func TestFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := map[string]int64{
			"a": rapid.Int64Range(1, 1000).Draw(t, "largest of a"),
			"b": rapid.Int64Range(1, 1000).Draw(t, "largest of b"),
			"c": rapid.Int64Range(1, 1000).Draw(t, "largest of c"),
		}
		q := New[Item](Bounds{})
		waiting := map[string]int{}
		push := func(tenant string) {
			item := Item{Tenant: tenant, Cost: rapid.Int64Range(1, most[tenant]).Draw(t, "cost")}
			_, _ = q.Push(item, item)
			waiting[tenant]++
		}
		// c comes and goes; a and b always wait.
		served := map[string]int64{}
		push("a")
		push("b")
		for range rapid.IntRange(1, 200).Draw(t, "served") {
			for range rapid.IntRange(0, 3).Draw(t, "more") {
				push(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "whose"))
			}
			for _, tenant := range []string{"a", "b"} {
				for waiting[tenant] < 2 {
					push(tenant)
				}
			}
			item, _ := q.Pop()
			waiting[item.Tenant]--
			served[item.Tenant] += item.Cost
			if difference := served["a"] - served["b"]; max(difference, -difference) > most["a"]+most["b"] {
				t.Fatalf("served %v, of at most %v each", served, most)
			}
		}
	})
}

// The queue does what a plain list does that is sorted anew each time.
func TestQueueIsASortedList(t *testing.T) {
	type waiting struct {
		priority int
		finish   int64
		order    int
		item     Item
		ticket   *Ticket[int]
	}
	rapid.Check(t, func(t *rapid.T) {
		bounds := Bounds{
			All:      rapid.IntRange(0, 6).Draw(t, "bound"),
			Priority: map[int]int{1: rapid.IntRange(0, 3).Draw(t, "bound of priority 1")},
		}
		q := New[int](bounds)
		var plain []waiting
		remove := func(i int) int {
			order := plain[i].order
			plain = slices.Delete(plain, i, i+1)
			return order
		}
		for order := range rapid.IntRange(1, 80).Draw(t, "events") {
			slices.SortFunc(plain, func(a, b waiting) int {
				return cmp.Or(a.priority-b.priority, cmp.Compare(a.finish, b.finish), a.order-b.order)
			})
			switch what := rapid.IntRange(0, 4).Draw(t, "what"); {
			case what < 3:
				item := Item{fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "tenant")), rapid.IntRange(0, 2).Draw(t, "priority"), rapid.Int64Range(1, 9).Draw(t, "cost")}
				ticket, shed := q.Push(order, item)
				plain = append(plain, waiting{item.Priority, ticket.finish, order, item, ticket})
				slices.SortFunc(plain, func(a, b waiting) int {
					return cmp.Or(a.priority-b.priority, cmp.Compare(a.finish, b.finish), a.order-b.order)
				})
				count, worst := 0, -1
				for i, w := range plain {
					if w.priority == item.Priority {
						count, worst = count+1, i
					}
				}
				if b := bounds.Priority[item.Priority]; b == 0 || count <= b {
					worst = -1
					if bounds.All > 0 && len(plain) > bounds.All {
						worst = len(plain) - 1
					}
				}
				if (worst >= 0) != (shed != nil) || shed != nil && shed.Value != remove(worst) {
					t.Fatalf("shed %+v, want place %d", shed, worst)
				}
			case what == 3:
				v, ok := q.Pop()
				if ok != (len(plain) > 0) || ok && v != remove(0) {
					t.Fatalf("popped %d, %v", v, ok)
				}
			case len(plain) > 0:
				i := rapid.IntRange(0, len(plain)-1).Draw(t, "which")
				if !q.Remove(plain[i].ticket) {
					t.Fatal("a request that waits was not there")
				}
				remove(i)
			}
			if q.Len() != len(plain) {
				t.Fatalf("%d wait, want %d", q.Len(), len(plain))
			}
		}
	})
}

// Whoever comes again has its turn, though there is always somebody who comes for
// the first time; and those are forgotten.
func TestNewTenantsDoNotStarveOldOnes(t *testing.T) {
	q := New[string](Bounds{})
	for i := range 10 {
		_, _ = q.Push("new", Item{Tenant: fmt.Sprint(i), Cost: 10})
	}
	for range 3 {
		_, _ = q.Push("again", Item{Tenant: "again", Cost: 10})
	}
	last := 0
	for i := range 1000 {
		_, _ = q.Push("new", Item{Tenant: fmt.Sprint("late-", i), Cost: 10})
		if v, _ := q.Pop(); v == "again" {
			last = i
		}
		if n := len(q.classes[0].tenants); n > q.Len() {
			t.Fatalf("%d tenants are remembered while %d requests wait", n, q.Len())
		}
	}
	if last == 0 || last > 100 {
		t.Errorf("the last request of a tenant with three went in place %d", last)
	}
}

func BenchmarkQueue(b *testing.B) {
	q := New[int](Bounds{All: 1000})
	tenants := make([]string, 100)
	for i := range tenants {
		tenants[i] = fmt.Sprint("tenant-", i)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		_, _ = q.Push(i, Item{Tenant: tenants[i*7919%100], Priority: i % 3, Cost: int64(i % 1000)})
		if i%2 == 0 {
			q.Pop()
		}
	}
}
