package store

import (
	"errors"
	"net/url"

	"github.com/redis/go-redis/v9"
)

// Dial returns a client for a redis:// or rediss:// URL. With addr parameters it
// is one for a cluster, whose other nodes they name. It connects when it is used.
// Calls are never repeated by the client: the store knows better which may be.
func Dial(address, password string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Host == "" {
		return nil, errors.New("expected a URL like redis://10.0.0.5:6379 or rediss://cache.example:6380/1")
	}
	if u.Query().Has("addr") {
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, errors.New("the URL of the Redis cluster has parameters that make no sense")
		}
		o.MaxRetries, o.ContextTimeoutEnabled = -1, true
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
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	if password != "" {
		o.Password = password
	}
	return redis.NewClient(o), nil
}
