package hf

import (
	"fmt"
	"sync"
	"testing"
)

// More words than the cache has slots, by several goroutines at once: each gets the
// tokens that it gets without a cache.
func TestRememberedWordsAreTheirOwn(t *testing.T) {
	tokenizer := made(t, bytesAnd("gpt-2", "a b", "ab c"))
	model := tokenizer.model.(*bpe)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s := new(scratch)
			for i := range cacheSlots * 5 / 4 {
				word := fmt.Sprintf("abc%xab", i)
				got := fmt.Sprint(model.encode(nil, word, s))
				if want := fmt.Sprint(model.split(nil, word, s)); got != want {
					t.Errorf("%q: %s, want %s", word, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
