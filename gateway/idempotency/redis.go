package idempotency

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Times of the store in Redis.
const (
	// rest is how long Redis is left alone after it failed.
	rest = time.Second
	// lease is how long a key stays taken when the gateway that holds it dies; a
	// living one renews it three times as often.
	lease = 30 * time.Second
)

// Redis keeps keys that several gateways share.
type Redis struct {
	client redis.UniversalClient
	local  *Memory // takes over while Redis is away; nil: there is an error then
	now    func() time.Time
	start  time.Time    // origin of the clock, which a step of the wall clock does not move
	awake  atomic.Int64 // nanoseconds since start, from which on Redis is asked again
	claims sync.WaitGroup
}

// NewRedis returns a store behind a client, which it closes. With local, keys are
// kept in memory while Redis cannot be reached, for this gateway alone; without,
// requests with keys are refused then.
func NewRedis(client redis.UniversalClient, local bool, now func() time.Time) *Redis {
	r := &Redis{client: client, now: now, start: now()}
	if local {
		r.local = NewMemory(now)
	}
	return r
}

// A value is a letter, the fingerprint, and what follows: p and the holder of a
// request in progress, or d and the answer of one that is done.
var (
	claimScript = redis.NewScript(`
local v = redis.call('GET', KEYS[1])
if not v then
  redis.call('SET', KEYS[1], 'p' .. ARGV[1] .. ARGV[2], 'PX', ARGV[3])
  return {'claimed'}
end
if string.sub(v, 2, 33) ~= ARGV[1] then return {'conflict'} end
if string.sub(v, 1, 1) == 'p' then return {'progress'} end
return {'done', string.sub(v, 34)}`)
	// A holder whose lease ran out may still keep its answer, unless another has
	// taken the key.
	keepScript = redis.NewScript(`
local v = redis.call('GET', KEYS[1])
if v and v ~= 'p' .. ARGV[1] .. ARGV[2] then return 0 end
redis.call('SET', KEYS[1], 'd' .. ARGV[1] .. ARGV[3], 'PX', ARGV[4])
return 1`)
	renewScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= 'p' .. ARGV[1] .. ARGV[2] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`)
	releaseScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= 'p' .. ARGV[1] .. ARGV[2] then return 0 end
return redis.call('DEL', KEYS[1])`)
)

// Claim implements Keys.
func (r *Redis) Claim(ctx context.Context, id ID, request Fingerprint) (*Answer, Claim, error) {
	c := &redisClaim{r: r, key: id.key(), request: request, holder: rand.Text()}
	v, err := r.run(ctx, claimScript, c.key, request[:], c.holder, lease.Milliseconds())
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil && r.local != nil:
		return r.local.Claim(ctx, id, request)
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("%w: an answer of its script makes no sense", ErrUnavailable)
	}
	switch list[0] {
	case "claimed":
		r.claims.Add(1)
		c.mu.Lock()
		c.renewal = time.AfterFunc(lease/3, c.renew)
		c.mu.Unlock()
		return nil, c, nil
	case "conflict":
		return nil, nil, ErrConflict
	case "progress":
		return nil, nil, ErrInProgress
	}
	text, _ := list[len(list)-1].(string)
	var a Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return nil, nil, fmt.Errorf("%w: reading an answer: %w", ErrUnavailable, err)
	}
	return &a, nil, nil
}

// key is the key of Redis. Each stands alone, so that a cluster can spread them.
func (id ID) key() string {
	return "llmctl:idempotency:" + url.PathEscape(id.Tenant) + ":" + hex.EncodeToString(id.sum[:])
}

// run runs a script, unless Redis failed just now: no more than one request a
// second shall wait for nothing. How long it waits is in the client.
func (r *Redis) run(ctx context.Context, s *redis.Script, key string, args ...any) (any, error) {
	if int64(r.now().Sub(r.start)) < r.awake.Load() {
		return nil, fmt.Errorf("it failed less than %v ago", rest)
	}
	v, err := s.Run(ctx, r.client, []string{key}, args...).Result()
	if err != nil && ctx.Err() == nil {
		r.awake.Store(int64(r.now().Sub(r.start) + rest))
	}
	return v, err
}

// Close implements Keys. All claims are ended.
func (r *Redis) Close() {
	r.claims.Wait()
	_ = r.client.Close() // nothing is in flight any more
}

// redisClaim is a key that this gateway holds in Redis.
type redisClaim struct {
	r       *Redis
	key     string
	request Fingerprint
	holder  string

	mu      sync.Mutex
	ended   bool
	renewal *time.Timer
}

// renew keeps the key for another lease.
func (c *redisClaim) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	_, _ = c.r.run(context.Background(), renewScript, c.key, c.request[:], c.holder, lease.Milliseconds()) // the next renewal may succeed
	c.renewal.Reset(lease / 3)
}

// Keep implements Claim. An answer that Redis does not take is not kept, and the
// key is free when the lease ends.
func (c *redisClaim) Keep(a Answer, ttl time.Duration) {
	text, err := json.Marshal(a)
	if err != nil || len(a.Body) > MaxBody {
		c.Release()
		return
	}
	c.end(keepScript, string(text), ttl.Milliseconds())
}

// Release implements Claim.
func (c *redisClaim) Release() { c.end(releaseScript) }

func (c *redisClaim) end(how *redis.Script, more ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	c.renewal.Stop()
	defer c.r.claims.Done()
	_, _ = c.r.run(context.Background(), how, c.key, append([]any{c.request[:], c.holder}, more...)...) // see Keep
}
