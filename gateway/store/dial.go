package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/llmctl/llmctl/internal/storeurl"
)

// Dial returns a client for a redis:// or rediss:// URL, whose calls wait for
// patience at most. With addr parameters it is one for a cluster, whose other nodes
// they name. password replaces the URL's own when it is not empty. The client
// connects when it is used. It repeats nothing: the store knows better what may be.
// Errors do not quote the URL.
func Dial(address, password string, patience time.Duration) (redis.UniversalClient, error) {
	silence()
	u, err := storeurl.Redis(address)
	if err != nil {
		return nil, err
	}
	if u.Query().Has("addr") {
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, errors.New("the URL of the Redis cluster has parameters that make no sense")
		}
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
		if password != "" {
			o.Password = password
		}
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("the Redis URL has a database or parameters that make no sense")
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	if password != "" {
		o.Password = password
	}
	return redis.NewClient(o), nil
}

// silence keeps the client library from writing to standard error by itself: what
// fails is an error that we log.
var silence = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

// Printf is what the library logs with.
func (silent) Printf(context.Context, string, ...any) {}
