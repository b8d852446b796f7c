package fleet

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/route"
)

// prompt is n blocks of a text that id names.
func prompt(id, n int) []route.Block {
	blocks := make([]route.Block, n)
	for i := range blocks {
		binary.LittleEndian.PutUint64(blocks[i][:], uint64(id))
		binary.LittleEndian.PutUint64(blocks[i][8:], uint64(i))
	}
	return blocks
}

func byPrefix(p *config.Provider) { p.Router.Policy = config.PolicyPrefixAffinity }

// A conversation's later turns go where the first went, also when they come at the
// same moment; what nobody knows goes to the least loaded.
func TestTurnsOfAConversationGoTogether(t *testing.T) {
	p, _ := still(t, provider(4, byPrefix))
	turns := prompt(1, 50)
	first := take(t, p, Want{Prompt: turns[:10]})
	for n := 20; n <= 50; n += 10 {
		l := take(t, p, Want{Prompt: turns[:n]})
		if l.Endpoint() != first.Endpoint() {
			t.Errorf("the turn with %d blocks went elsewhere", n)
		}
		l.Release(OK)
	}
	if other := take(t, p, Want{Prompt: prompt(2, 10)}); other.Endpoint() == first.Endpoint() {
		t.Error("another conversation went to the only endpoint with something to do")
	}
}

// A prompt that all requests begin with does not send them all to one endpoint.
func TestAffinityHasALoadCap(t *testing.T) {
	p, _ := still(t, provider(4, byPrefix))
	at := map[string]int{}
	for range 100 {
		at[host(take(t, p, Want{Prompt: prompt(1, 10)}))]++
	}
	for e, n := range at {
		if n > 33 { // 1.25 times the mean, and one
			t.Errorf("%d of 100 at %s: %v", n, e, at)
		}
	}
}

// An endpoint that did not answer may have lost its cache.
func TestUnreachedEndpointLosesItsPrompts(t *testing.T) {
	p, _ := still(t, provider(1, byPrefix))
	take(t, p, Want{Prompt: prompt(1, 10)}).Release(OK)
	if n := p.Status().Endpoints[0].Blocks; n != 10 {
		t.Fatalf("%d blocks", n)
	}
	take(t, p, Want{}).Release(Unreached)
	if n := p.Status().Endpoints[0].Blocks; n != 0 {
		t.Errorf("%d blocks", n)
	}
}

// The index does not grow with the number of prompts, and is filled: the second
// of two equal ones finds the first.
func TestIndexIsBounded(t *testing.T) {
	p, _ := still(t, provider(2, byPrefix))
	for id := range 10_000 {
		l := take(t, p, Want{Prompt: prompt(id, 20)})
		if id%1000 == 0 {
			again := take(t, p, Want{Prompt: prompt(id, 20)})
			if again.Endpoint() != l.Endpoint() {
				t.Fatal("the second equal prompt went elsewhere")
			}
			again.Release(OK)
		}
		l.Release(OK)
	}
	for _, e := range p.Status().Endpoints {
		if e.Blocks > DefaultBlocks || e.Blocks < DefaultBlocks/2 {
			t.Errorf("%d blocks at %s, of at most %d", e.Blocks, e.URL, DefaultBlocks)
		}
	}
}

// A failed endpoint is only preferred against.
func TestAvoidedEndpointIsUsedForWantOfOthers(t *testing.T) {
	p, _ := still(t, provider(2))
	avoid := []*Endpoint{p.endpoints[0]}
	for range 3 {
		if l := take(t, p, Want{Avoid: avoid}); l.Endpoint() == avoid[0] {
			t.Error("the endpoint that failed was picked")
		}
	}
	if l := take(t, p, Want{Avoid: p.endpoints}); l == nil {
		t.Error("none was picked")
	}
}

func BenchmarkAcquire(b *testing.B) {
	p, _ := still(b, provider(8, byPrefix, func(p *config.Provider) { p.InFlight, p.Shed.Queue, p.Shed.KVUsage = 100, 5, 0.9 }))
	for _, blocks := range []int{0, 32, 256} {
		b.Run(map[int]string{0: "no prompt", 32: "2 KiB prompt", 256: "16 KiB prompt"}[blocks], func(b *testing.B) {
			text := prompt(1, blocks)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					l, err := p.Acquire(b.Context(), Want{Tenant: "a", Tokens: 100, Prompt: text, NoWait: true})
					if err != nil {
						b.Error(err)
						return
					}
					l.Answered()
					l.Release(OK)
				}
			})
		})
	}
}

// What a release costs while a thousand wait.
func BenchmarkQueued(b *testing.B) {
	p, _ := still(b, provider(8, bounded(4)))
	leases := make(chan *Lease, 2000)
	for range 32 {
		leases <- take(b, p, Want{})
	}
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			for {
				l, err := p.Acquire(ctx, Want{Tenant: string(rune('a' + i%20)), Tokens: int64(i)})
				if err != nil {
					return
				}
				leases <- l
			}
		})
	}
	for b.Loop() {
		(<-leases).Release(OK)
	}
	stop()
	wg.Wait()
}
