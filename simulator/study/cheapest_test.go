package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
)

// offered is a kind of replica whose plan and whose truth are known.
type offered struct {
	name     string
	each     float64 // dollars per hour of one
	width    int     // accelerators of one
	planned  int
	carries  int // replicas that complete all of the load
	needs    int // replicas that meet the objective, at least as many
	leastSay int // replicas that are said to be needed at least
}

func (o offered) option() sizing.Option {
	return sizing.Option{
		Configuration: sizing.Configuration{Accelerator: o.name, TensorParallel: o.width},
		Replicas:      o.planned, Accelerators: o.planned * o.width, USDPerHour: o.each * float64(o.planned), MaxRPS: 1,
	}
}

// shop tries clusters by what is known of their kinds.
type shop struct {
	kinds map[string]offered
	tried []string
	waves [][]Cluster
	stop  int // waves until someone stops; 0 is never
}

func newShop(kinds []offered) *shop {
	s := &shop{kinds: map[string]offered{}}
	for _, k := range kinds {
		s.kinds[k.name] = k
	}
	return s
}

func (s *shop) try(_ context.Context, clusters []Cluster) (out []reports.Trial, err error) {
	s.waves = append(s.waves, clusters)
	for i, c := range clusters {
		if len(s.waves) == s.stop && i == len(clusters)/2 {
			return out, nil
		}
		k := s.kinds[c.Option.Accelerator]
		s.tried = append(s.tried, fmt.Sprintf("%d %s", c.Replicas, k.name))
		out = append(out, reports.Trial{
			Configuration: c.Option.Configuration, Replicas: c.Replicas, USDPerHour: k.each * float64(c.Replicas),
			Meets: c.Replicas >= k.needs, Completed: min(1, float64(c.Replicas)/float64(k.carries)),
		})
	}
	return out, nil
}

func (s *shop) market(kinds []offered, accelerators int) Market {
	found := &sizing.Search{}
	for _, k := range kinds {
		found.Options = append(found.Options, k.option())
	}
	return Market{Found: found, Accelerators: accelerators, Least: func(o sizing.Option) int { return s.kinds[o.Accelerator].leastSay }}
}

// cheapestOf is the price of the cheapest trial that meets, infinite of none.
func cheapestOf(trials []reports.Trial) float64 {
	best := math.Inf(1)
	for _, t := range trials {
		if t.Meets {
			best = min(best, t.USDPerHour)
		}
	}
	return best
}

// drawKinds draws a list of prices. Prices are whole, so that ties are common.
func drawKinds(t *rapid.T) []offered {
	kinds := make([]offered, rapid.IntRange(0, 9).Draw(t, "kinds"))
	for i := range kinds {
		carries := rapid.IntRange(1, 30).Draw(t, "carries")
		kinds[i] = offered{
			name: fmt.Sprintf("kind%d", i), each: float64(rapid.IntRange(1, 40).Draw(t, "each")), width: 1 << rapid.IntRange(0, 3).Draw(t, "width"),
			planned: rapid.IntRange(1, 40).Draw(t, "planned"), carries: carries, needs: carries + rapid.IntRange(0, 10).Draw(t, "more"),
			leastSay: rapid.IntRange(0, carries).Draw(t, "least"),
		}
	}
	return kinds
}

// TestCheapestIsTheCheapest compares with all clusters, for any list of prices: of
// all kinds and numbers none that meets costs less, none is tried twice, none that
// costs as much as one that is known to meet, and of each kind no more than bisection
// takes.
func TestCheapestIsTheCheapest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := drawKinds(t)
		accelerators := rapid.SampledFrom([]int{0, 0, 1, 8, 50}).Draw(t, "accelerators")
		s := newShop(kinds)
		trials, err := Cheapest(t.Context(), s.market(kinds, accelerators), s.try)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Inf(1)
		for _, k := range kinds {
			most := mostReplicas * k.planned
			if accelerators > 0 {
				most = min(most, accelerators/k.width)
			}
			if k.needs <= most {
				want = min(want, k.each*float64(k.needs))
			}
		}
		if got := cheapestOf(trials); got != want {
			t.Fatalf("cheapest %g, want %g of %+v: tried %v", got, want, kinds, s.tried)
		}
		seen, of := map[string]bool{}, map[string]int{}
		for _, name := range s.tried {
			if seen[name] {
				t.Fatalf("%s was tried twice: %v", name, s.tried)
			}
			seen[name] = true
		}
		at := 0
		for _, wave := range s.waves {
			known := cheapestOf(trials[:at])
			for _, c := range wave {
				k := s.kinds[c.Option.Accelerator]
				of[k.name]++
				if price := k.each * float64(c.Replicas); price >= known {
					t.Fatalf("%d %s at %g was tried when %g was known to do", c.Replicas, k.name, price, known)
				}
				if accelerators > 0 && c.Replicas*k.width > accelerators {
					t.Fatalf("%d %s takes more than %d accelerators", c.Replicas, k.name, accelerators)
				}
			}
			at += len(wave)
		}
		for name, n := range of {
			// Up in doubled steps, down by halves, and once more for each kind that was
			// found to be cheaper in between.
			if most := 3 + 2*int(math.Log2(float64(mostReplicas*s.kinds[name].planned))) + len(kinds); n > most {
				t.Fatalf("%s was tried %d times, expected at most %d: %v", name, n, most, s.tried)
			}
		}
		again := newShop(kinds)
		if _, err := Cheapest(t.Context(), again.market(kinds, accelerators), again.try); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.tried, again.tried); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestCheapestEnds: a search that is stopped has what was tried until then, the same
// as one that is not.
func TestCheapestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := drawKinds(t)
		whole, cut := newShop(kinds), newShop(kinds)
		all, err := Cheapest(t.Context(), whole.market(kinds, 0), whole.try)
		if err != nil {
			t.Fatal(err)
		}
		cut.stop = rapid.IntRange(1, 10).Draw(t, "stop")
		some, err := Cheapest(t.Context(), cut.market(kinds, 0), cut.try)
		if err != nil || len(cut.waves) > cut.stop || len(some) > len(all) {
			t.Fatalf("%v, %d waves, %d of %d trials", err, len(cut.waves), len(some), len(all))
		}
		if diff := cmp.Diff(all[:len(some)], some, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestCheapest walks through searches by hand.
func TestCheapest(t *testing.T) {
	small := offered{name: "small", each: 2, width: 1, planned: 4, carries: 9, needs: 9}
	big := offered{name: "big", each: 10, width: 1, planned: 1, carries: 1, needs: 1}
	for _, c := range []struct {
		name         string
		kinds        []offered
		accelerators int
		want         []string
		planned      string
	}{
		{name: "the next of an overrun kind costs more than what meets", kinds: []offered{small, big}, want: []string{"4 small", "1 big"}, planned: "4 small"},
		{
			name:  "a kind that met first is not the answer while another is cheaper",
			kinds: []offered{{name: "one", each: 4.5, width: 1, planned: 3, carries: 2, needs: 3}, {name: "four", each: 18, width: 4, planned: 1, carries: 1, needs: 1}},
			want:  []string{"3 one", "1 four", "2 one"}, planned: "3 one",
		},
		{
			name:  "down to less than half of the plan",
			kinds: []offered{{name: "one", each: 1, width: 1, planned: 16, carries: 3, needs: 3}},
			want:  []string{"16 one", "8 one", "4 one", "2 one", "3 one"}, planned: "16 one",
		},
		{
			name:  "up by more and more",
			kinds: []offered{{name: "one", each: 1, width: 1, planned: 4, carries: 4, needs: 9}},
			want:  []string{"4 one", "5 one", "7 one", "11 one", "9 one", "8 one"}, planned: "4 one",
		},
		{
			name:  "what serves with as few as are said to be needed may do with fewer",
			kinds: []offered{{name: "one", each: 1, width: 1, planned: 4, carries: 2, needs: 2, leastSay: 4}},
			want:  []string{"4 one", "2 one", "1 one"}, planned: "4 one",
		},
		{name: "accelerators at hand", kinds: []offered{small, big}, accelerators: 3, want: []string{"3 small", "1 big"}, planned: "1 big"},
		{name: "none at hand is large enough", kinds: []offered{{name: "four", each: 1, width: 4, planned: 1, carries: 1, needs: 1}}, accelerators: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(c.kinds)
			m := s.market(c.kinds, c.accelerators)
			if _, err := Cheapest(t.Context(), m, s.try); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.tried); diff != "" {
				t.Error(diff)
			}
			planned := ""
			if p, ok := m.Planned(); ok {
				planned = fmt.Sprintf("%d %s", p.Replicas, p.Option.Accelerator)
			}
			if planned != c.planned {
				t.Errorf("planned %q, want %q", planned, c.planned)
			}
		})
	}
}

// TestCheapestKinds: of one kind the cheapest plan counts, and none without a price or
// of fewer bits than the model has.
func TestCheapestKinds(t *testing.T) {
	big := offered{name: "big", each: 10, width: 1, planned: 1, carries: 1, needs: 1}
	dear, tiny, free := big.option(), big.option(), big.option()
	dear.USDPerHour, dear.MaxNumSeqs = 12, 64
	tiny.Accelerator, tiny.USDPerHour, tiny.Quality = "tiny", 1, []string{"weights"}
	free.Accelerator, free.USDPerHour = "free", 0
	s := newShop([]offered{big})
	m := Market{Found: &sizing.Search{Options: []sizing.Option{dear, big.option(), tiny, free}}}
	if _, err := Cheapest(t.Context(), m, s.try); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]Cluster{{{Option: big.option(), Replicas: 1}}}, s.waves, cmp.AllowUnexported(sizing.Option{})); diff != "" {
		t.Error(diff)
	}
	broken := errors.New("broken")
	_, err := Cheapest(t.Context(), m, func(context.Context, []Cluster) ([]reports.Trial, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}
