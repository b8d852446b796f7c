package queue

import (
	"cmp"
	"fmt"
	"math"
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

func TestWeights(t *testing.T) {
	q := New[string](Bounds{})
	for i := range 6 {
		_, _ = q.Push(fmt.Sprint("a", i), Item{Tenant: "a", Cost: 10, Weight: 3})
	}
	for i := range 2 {
		_, _ = q.Push(fmt.Sprint("b", i), Item{Tenant: "b", Cost: 10})
	}
	if got := drain(q); got != "a0 a1 a2 b0 a3 a4 a5 b1" {
		t.Errorf("order %q, want three of the heavy tenant for one of the other", got)
	}
}

// However much a request may take, the order stays one.
func TestHugeCostsDoNotOverflow(t *testing.T) {
	q := New[string](Bounds{})
	for i := range 3 {
		_, _ = q.Push(fmt.Sprint("a", i), Item{Tenant: "a", Cost: math.MaxInt64})
	}
	_, _ = q.Push("b", Item{Tenant: "b", Cost: 1})
	if got := drain(q); got != "b a0 a1 a2" {
		t.Errorf("order %q", got)
	}
}

// Lower bounds hold at once: of each priority, and of all, those leave that would
// go last.
func TestLowerBounds(t *testing.T) {
	q := New[string](Bounds{})
	for i := range 3 {
		for priority := range 3 {
			_, _ = q.Push(fmt.Sprint("p", priority, "-", i), Item{Tenant: "a", Priority: priority, Cost: 1})
		}
	}
	var shed []string
	for _, s := range q.Bound(Bounds{All: 3, Priority: map[int]int{0: 2}}) {
		shed = append(shed, s.Value)
	}
	if got := strings.Join(shed, " "); got != "p0-2 p2-2 p2-1 p2-0 p1-2 p1-1" {
		t.Errorf("shed %q", got)
	}
	if got := drain(q); got != "p0-0 p0-1 p1-0" {
		t.Errorf("left %q", got)
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

// While two tenants both wait, what they are served differs, by weight, by no more
// than one largest request of each (Golestani's bound).
func TestFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := map[string]int64{
			"a": rapid.Int64Range(1, 1000).Draw(t, "largest of a"),
			"b": rapid.Int64Range(1, 1000).Draw(t, "largest of b"),
			"c": rapid.Int64Range(1, 1000).Draw(t, "largest of c"),
		}
		weight := map[string]int{
			"a": rapid.IntRange(1, 9).Draw(t, "weight of a"),
			"b": rapid.IntRange(1, 9).Draw(t, "weight of b"),
			"c": rapid.IntRange(1, 9).Draw(t, "weight of c"),
		}
		q := New[Item](Bounds{})
		waiting := map[string]int{}
		push := func(tenant string) {
			item := Item{Tenant: tenant, Cost: rapid.Int64Range(1, most[tenant]).Draw(t, "cost"), Weight: weight[tenant]}
			_, _ = q.Push(item, item)
			waiting[tenant]++
		}
		// c comes and goes; a and b always wait.
		served := map[string]float64{} // tokens by weight
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
			served[item.Tenant] += float64(item.Cost) / float64(item.Weight)
			bound := float64(most["a"])/float64(weight["a"]) + float64(most["b"])/float64(weight["b"])
			if difference := math.Abs(served["a"] - served["b"]); difference > bound+0.5 { // the latter for what the grain loses
				t.Fatalf("served %v by weight, of at most %v each with weights %v", served, most, weight)
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
				item := Item{
					Tenant:   fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "tenant")),
					Priority: rapid.IntRange(0, 2).Draw(t, "priority"),
					Cost:     rapid.Int64Range(1, 9).Draw(t, "cost"),
					Weight:   rapid.IntRange(0, 3).Draw(t, "weight"),
				}
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
				// Of those that may go: with a step of 1 all, with 2 every other one.
				step := rapid.IntRange(1, 2).Draw(t, "who may")
				first := slices.IndexFunc(plain, func(w waiting) bool { return w.order%step == 0 })
				v, ok := q.PopFunc(func(v int) bool { return v%step == 0 })
				if ok != (first >= 0) || ok && v != remove(first) {
					t.Fatalf("popped %d, %v", v, ok)
				}
			case what == 4 && len(plain) > 0 && rapid.Bool().Draw(t, "new bounds"):
				bounds.All = rapid.IntRange(0, 6).Draw(t, "bound")
				for _, shed := range q.Bound(bounds) {
					if want := remove(len(plain) - 1); shed.Value != want {
						t.Fatalf("the new bound shed %d, want %d", shed.Value, want)
					}
				}
				if bounds.All > 0 && len(plain) > bounds.All {
					t.Fatalf("%d wait within a bound of %d", len(plain), bounds.All)
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
