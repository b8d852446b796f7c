package server

import (
	"context"
	"sync"

	"github.com/llmctl/llmctl/engine"
)

// arrival is an event of one of a request's prompts.
type arrival struct {
	prompt int
	engine.Event
}

// arrivals merges what streams deliver until all have ended or ctx has, and then
// closes the channel. Nothing is read ahead: what nobody takes waits in the streams.
// Whoever ends ctx waits for readers before it goes.
func arrivals(ctx context.Context, streams []*engine.Stream, readers *sync.WaitGroup) <-chan arrival {
	out := make(chan arrival)
	var own sync.WaitGroup
	for i, s := range streams {
		own.Go(func() {
			for {
				e, err := s.Next(ctx)
				if err != nil {
					return
				}
				select {
				case out <- arrival{i, e}:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	readers.Go(func() {
		own.Wait()
		close(out)
	})
	return out
}
