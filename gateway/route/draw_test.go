package route

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// split is an alias of a stable target and a canary with the share in percent.
func split(name string, sticky Sticky, share int) *Chooser {
	return NewChooser(Alias{Name: name, Sticky: sticky, Targets: []Target{
		{Name: "stable", Weight: 100 - share}, {Name: "canary", Weight: share, Canary: true},
	}})
}

func arm(t testing.TB, c *Chooser, f Features) int {
	t.Helper()
	p, err := c.Choose(&f)
	if err != nil {
		t.Fatal(err)
	}
	return p.Choices[0].Target
}

// within checks a count against a binomial share, four standard deviations wide.
func within(t *testing.T, what string, got, n int, share float64) {
	t.Helper()
	if dev := 4 * math.Sqrt(float64(n)*share*(1-share)); math.Abs(float64(got)-float64(n)*share) > dev {
		t.Errorf("%s: %d of %d, want %g ± %g", what, got, n, float64(n)*share, dev)
	}
}

const tenants = 20_000

func tenant(i int) Features {
	return Features{Tenant: fmt.Sprintf("tenant-%d", i), Draw: uint64(i) * 7919}
}

func TestACanaryGetsItsShareOfTenantsSessionsAndRequests(t *testing.T) {
	for name, sticky := range map[string]Sticky{"tenant": ByTenant, "session": BySession, "request": ByRequest} {
		for _, share := range []int{1, 5, 50} {
			c, got := split("assistant", sticky, share), 0
			for i := range tenants {
				f := tenant(i)
				f.Session = fmt.Sprintf("session-%d", i)
				if sticky == BySession {
					f.Tenant = "one"
				}
				got += arm(t, c, f)
			}
			within(t, fmt.Sprintf("%d %% by %s", share, name), got, tenants, float64(share)/100)
		}
	}
}

func TestACanaryKeepsItsTenantsWhenItsShareGrows(t *testing.T) {
	shares := []int{0, 1, 5, 10, 50, 99, 100}
	for i := range 5000 {
		before := 0
		for _, share := range shares {
			now := arm(t, split("assistant", ByTenant, share), tenant(i))
			if now < before {
				t.Fatalf("tenant %d lost the canary at %d %%", i, share)
			}
			before = now
		}
	}
}

// Raising one weight moves keys to its target only, in whatever alias.
func TestARaisedWeightMovesKeysToItsTargetOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var targets []Target
		for i := range rapid.IntRange(2, 5).Draw(t, "targets") {
			targets = append(targets, Target{Name: fmt.Sprint(i), Weight: rapid.IntRange(1, 100).Draw(t, "weight")})
		}
		raised := rapid.IntRange(0, len(targets)-1).Draw(t, "raised")
		f := tenant(rapid.IntRange(0, 1<<40).Draw(t, "tenant"))
		before, err := NewChooser(Alias{Sticky: ByTenant, Targets: targets}).Choose(&f)
		if err != nil {
			t.Fatal(err)
		}
		targets[raised].Weight += rapid.IntRange(1, 1000).Draw(t, "by")
		after, err := NewChooser(Alias{Sticky: ByTenant, Targets: targets}).Choose(&f)
		if err != nil {
			t.Fatal(err)
		}
		if was, is := before.Choices[0].Target, after.Choices[0].Target; was != is && is != raised {
			t.Fatalf("the key moved from %d to %d, and %d was raised", was, is, raised)
		}
	})
}

// Who is in one alias's canary says nothing about who is in another's: a tenant
// is not everybody's guinea pig. Nor do two flags go together.
func TestDrawsOfAliasesAndFlagsAreIndependent(t *testing.T) {
	one, two := split("one", ByTenant, 20), split("two", ByTenant, 20)
	flags := [2]Flag{{Name: "f", Percent: 20}, {Name: "g", Percent: 20}}
	both, bothFlags := 0, 0
	for i := range tenants {
		f := tenant(i)
		both += arm(t, one, f) * arm(t, two, f)
		if key := ByTenant.key(&f); flags[0].on(f.Tenant, key) && flags[1].on(f.Tenant, key) {
			bothFlags++
		}
	}
	within(t, "canaries", both, tenants, 0.04)
	within(t, "flags", bothFlags, tenants, 0.04)
}

// The draw is part of what a configuration means: a new version that drew in
// another way would move tenants between arms. These are fixed for good.
func TestADrawIsTheSameOnEveryGatewayAndAfterEveryRestart(t *testing.T) {
	got := ""
	for i := range 32 {
		got += fmt.Sprint(arm(t, split("assistant", ByTenant, 20), tenant(i)))
	}
	if want := "00101000000010110001000100011001"; got != want {
		t.Errorf("the first 32 tenants are in arms %s, want %s", got, want)
	}
}

func TestASessionStaysWithItsTarget(t *testing.T) {
	c := split("assistant", BySession, 50)
	arms := map[int]int{}
	for i := range 64 {
		f := Features{Tenant: "a", Session: fmt.Sprint("s", i), Draw: 1}
		first := arm(t, c, f)
		arms[first]++
		f.Draw = 1 << 63
		if arm(t, c, f) != first {
			t.Errorf("session %d moved", i)
		}
	}
	if len(arms) != 2 {
		t.Errorf("all sessions are in one arm: %v", arms)
	}
	without := map[int]int{}
	for i := range 64 {
		without[arm(t, c, Features{Tenant: "a", Draw: uint64(i) << 58})]++
	}
	if len(without) != 2 {
		t.Errorf("requests without a session are in one arm: %v", without)
	}
}

// Clients of different tenants name their sessions alike, "1" or "default": each
// tenant's is drawn for itself, or all of them would fall on one target.
func TestSessionsOfOneNameAreDrawnForEachTenant(t *testing.T) {
	c, got := split("assistant", BySession, 50), 0
	for i := range tenants {
		f := tenant(i)
		f.Session = "default"
		got += arm(t, c, f)
	}
	within(t, "half of the tenants' sessions", got, tenants, 0.5)
}

func TestFlags(t *testing.T) {
	f := Flag{Name: "beta", Percent: 10, Tenants: []string{"early"}}
	on := 0
	for i := range tenants {
		x := tenant(i)
		key := ByTenant.key(&x)
		if f.on(x.Tenant, key) {
			on++
			if wide := (Flag{Name: "beta", Percent: 20}); !wide.on(x.Tenant, key) {
				t.Fatalf("%s lost the flag when its share grew", x.Tenant)
			}
		}
		if full, none := (Flag{Name: "beta", Percent: 100}), (Flag{Name: "beta"}); !full.on(x.Tenant, key) || none.on(x.Tenant, key) {
			t.Fatal("100 % must be all, 0 % none")
		}
	}
	within(t, "10 %", on, tenants, 0.1)
	if x := (Features{Tenant: "early"}); !f.on("early", ByTenant.key(&x)) {
		t.Error("a listed tenant has not the flag")
	}
}
