package usage

import (
	"context"
	"time"
)

// store keeps records. All methods but write may run at once; write and prune are
// the writer's alone.
type store interface {
	// write keeps a batch: all of it, or none with an error. A batch that is written
	// again, for it was unclear whether the first time succeeded, is kept once.
	write(ctx context.Context, batch []Record) error
	// prune forgets some of the requests that ended before a time, and none of the
	// sums; more tells whether there are others.
	prune(ctx context.Context, before time.Time) (more bool, err error)
	// sums returns rows ordered by their values.
	sums(ctx context.Context, q Query) ([]row, error)
	// requests calls each for every record of a span of time, in its order.
	requests(ctx context.Context, from, to time.Time, each func(*Record) error) error
	close() error
}
