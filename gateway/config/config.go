package config

// Config is the gateway's configuration file. Parse reads it; keys that are not
// listed here are refused. Each number has a tag such as in:"(0,1]",
// which says what it may be.
type Config struct {
	Listen       string      `yaml:"listen"`          // host:port of the API
	TLS          TLS         `yaml:"tls,omitempty"`   // of the API; without a certificate it speaks plain HTTP
	Admin        Admin       `yaml:"admin,omitempty"` // metrics, health, usage and the page, apart from the API
	Store        Store       `yaml:"store,omitempty"`
	Traces       Traces      `yaml:"traces,omitempty"`
	MaxBody      Size        `yaml:"max_body,omitempty" in:"[1KB,1GiB]"`    // largest request body; 0 means DefaultMaxBody
	MaxAnswer    Size        `yaml:"max_answer,omitempty" in:"[1KB,1GiB]"`  // largest answer that is not streamed; 0 means DefaultMaxAnswer
	Origins      []Origin    `yaml:"origins,omitempty"`                     // of pages in browsers, beside the gateway's own host, that may use WebSocket
	SSEKeepAlive Duration    `yaml:"sse_keepalive,omitempty" in:"[1ms,1h]"` // silence after which a stream gets a comment, for proxies; never when absent
	CacheSize    Size        `yaml:"cache_size,omitempty" in:"[1KB,1TiB]"`  // memory of all answers that are kept; 0 means DefaultCacheSize
	Idempotency  Idempotency `yaml:"idempotency,omitempty"`
	Classes      []Class     `yaml:"classes,omitempty"` // absent: interactive before batch
	Flags        []Flag      `yaml:"flags,omitempty"`
	Filters      []Filter    `yaml:"filters,omitempty"`
	Segments     Segments    `yaml:"segments,omitempty"`
	Tenants      []Tenant    `yaml:"tenants"`
	Providers    []Provider  `yaml:"providers"`
	Models       []Model     `yaml:"models"`
	Picker       Picker      `yaml:"picker,omitempty"`
}

// Picker is a listener at which Envoy asks for endpoints of a provider; see package
// picker. Without an address there is none.
type Picker struct {
	Listen   string `yaml:"listen,omitempty"`
	Provider string `yaml:"provider,omitempty"`
	TLS      TLS    `yaml:"tls,omitempty"`
}

// TLS is a listener's certificate, as paths of PEM files.
type TLS struct {
	Cert     string `yaml:"cert,omitempty"`
	Key      string `yaml:"key,omitempty"`
	ClientCA string `yaml:"client_ca,omitempty"` // clients must show a certificate of it
}

// Admin is the second listener. Without an address there is none.
type Admin struct {
	Listen   string `yaml:"listen,omitempty"`
	TokenEnv string `yaml:"token_env,omitempty"` // environment variable with the bearer token for all but health
	TLS      TLS    `yaml:"tls,omitempty"`
}

// Store says where state is kept.
type Store struct {
	// Limits is where limits and idempotency keys are counted: "memory", also
	// when empty, in which case each gateway counts for itself, or a redis:// or
	// rediss:// URL that several gateways share.
	Limits       string `yaml:"limits,omitempty"`
	LimitsKeyEnv string `yaml:"limits_key_env,omitempty"` // variable with its password
	// WhenDown says what happens to requests with limits while that place cannot be
	// reached: "refuse", also when empty, or "local", which lets each gateway
	// count for itself.
	WhenDown string   `yaml:"when_down,omitempty"`
	Timeout  Duration `yaml:"timeout,omitempty" in:"[1ms,1m]"` // longest that a request waits for that place; DefaultStoreTimeout when absent
	// Usage is where metering is kept: sqlite:FILE, a postgres:// URL, or "none".
	// Empty means sqlite in the user's state folder.
	Usage       string `yaml:"usage,omitempty"`
	UsageKeyEnv string `yaml:"usage_key_env,omitempty"`
	// UsageKeep is how long single requests are kept; usage.DefaultKeep when
	// absent. Sums of them by the hour are kept for good.
	UsageKeep Duration `yaml:"usage_keep,omitempty" in:"[1h,87600h]"`
}

// Traces says where OpenTelemetry spans go. OTEL_* variables fill what is absent.
type Traces struct {
	Endpoint string   `yaml:"endpoint,omitempty"`          // of an OTLP collector over HTTP, such as http://127.0.0.1:4318
	Sample   *float64 `yaml:"sample,omitempty" in:"[0,1]"` // share of requests without a sampled parent, 0..1; 1 when absent
}

// Idempotency keeps answers of requests with an Idempotency-Key.
type Idempotency struct {
	TTL Duration `yaml:"ttl,omitempty" in:"[1ms,720h]"` // DefaultIdempotency when absent
}

// Class is a latency class of requests.
type Class struct {
	Name     string `yaml:"name"`
	Priority int    `yaml:"priority" in:"[-1M,1M]"` // smaller goes first, always
	// MaxQueue and QueueTimeout bound the class's part of each provider's queue,
	// beside the provider's own bounds.
	MaxQueue     Count    `yaml:"max_queue,omitempty" in:"[1,1M]"`
	QueueTimeout Duration `yaml:"queue_timeout,omitempty" in:"[1ms,24h]"`
}

// Flag is a feature flag: on for the tenants it lists, and for a percentage of
// all others.
type Flag struct {
	Name    string   `yaml:"name"`
	Percent float64  `yaml:"percent,omitempty" in:"[0,100]"` // 0..100, sticky as the model's Sticky says
	Tenants []string `yaml:"tenants,omitempty"`
}

// Filter is a check of content that a model can ask for.
type Filter struct {
	Name    string   `yaml:"name"`
	Kind    string   `yaml:"kind"`              // keyword | regex
	Words   []string `yaml:"words,omitempty"`   // of keyword: whole words, whatever their case
	Pattern string   `yaml:"pattern,omitempty"` // of regex: RE2
	On      string   `yaml:"on,omitempty"`      // input (default) | output | both
	Message string   `yaml:"message,omitempty"` // what the client is told; the text that matched never is
}

// Tenant is one customer: its keys, what it may spend and what it may call.
type Tenant struct {
	Name     string   `yaml:"name"`
	Keys     []Key    `yaml:"keys"`
	Limits   Limits   `yaml:"limits,omitempty"`
	Models   []string `yaml:"models,omitempty"`             // aliases; absent means all, and an empty list is refused
	Classes  []string `yaml:"classes,omitempty"`            // classes that its requests may ask for; absent means all
	Priority string   `yaml:"priority,omitempty"`           // class of requests that ask for none; absent: the first one it may use
	Weight   int      `yaml:"weight,omitempty" in:"[1,1M]"` // share among tenants that wait; 1 when absent
}

// Key is one bearer key, as a hash or as the name of an environment variable
// that holds it, never in the clear. Its limits and scopes hold beside the
// tenant's.
type Key struct {
	Name    string   `yaml:"name,omitempty"` // in logs and usage; absent: key-N
	Hash    string   `yaml:"hash,omitempty"` // see HashKey
	KeyEnv  string   `yaml:"key_env,omitempty"`
	Limits  Limits   `yaml:"limits,omitempty"`
	Models  []string `yaml:"models,omitempty"`
	Classes []string `yaml:"classes,omitempty"`
}

// Limits bound a tenant or a key; an absent one does not.
type Limits struct {
	RPM         Count `yaml:"rpm,omitempty" in:"[1,1000G]"`        // requests per minute
	InputTPM    Count `yaml:"input_tpm,omitempty" in:"[1,1000G]"`  // input tokens per minute
	OutputTPM   Count `yaml:"output_tpm,omitempty" in:"[1,1000G]"` // output tokens per minute
	Concurrent  Count `yaml:"concurrent,omitempty" in:"[1,1M]"`    // requests at once
	USDPerDay   USD   `yaml:"usd_per_day,omitempty" in:"[0.000000001,1000000000]"`
	USDPerMonth USD   `yaml:"usd_per_month,omitempty" in:"[0.000000001,1000000000]"` // both by UTC's calendar
}

// Provider is a set of servers that speak the same protocol and serve the same
// models.
type Provider struct {
	Name      string   `yaml:"name"`
	Kind      string   `yaml:"kind,omitempty"`      // openai, also when empty, or anthropic
	Endpoints []string `yaml:"endpoints,omitempty"` // base URLs, with or without /v1
	BaseURL   string   `yaml:"base_url,omitempty"`  // the same, of a provider with one
	KeyEnv    string   `yaml:"key_env,omitempty"`
	// CacheSalt sends each tenant's own cache_salt, which keeps tenants out of
	// each other's prefix cache. It is on when absent; vendors that refuse
	// fields they do not know need it off.
	CacheSalt *bool `yaml:"cache_salt,omitempty"`
	// StreamUsage asks for usage in streams, which metering needs. It is on
	// when absent; servers that refuse stream_options need it off, and their
	// tokens are then estimated.
	StreamUsage *bool `yaml:"stream_usage,omitempty"`
	// SendPriority sends the class's priority as vLLM's priority, which engines
	// take only when they schedule by priority.
	SendPriority bool `yaml:"send_priority,omitempty"`
	// LimitHeaders hands on to clients what the upstream says of its own limits, as
	// x-llmctl-upstream-x-ratelimit-… and the like. All tenants see there how much
	// they use together.
	LimitHeaders bool `yaml:"limit_headers,omitempty"`

	// Metrics says whose metrics the endpoints have: vllm, sglang, trtllm, llmctl
	// or auto; none, also when empty, reads none.
	Metrics      string   `yaml:"metrics,omitempty"`
	MetricsEvery Duration `yaml:"metrics_every,omitempty" in:"[10ms,1h]"` // DefaultMetricsEvery when absent

	Router       Router   `yaml:"router,omitempty"`
	InFlight     Count    `yaml:"in_flight,omitempty" in:"[1,1M]"`        // requests at an endpoint at once; absent: no bound
	MaxQueue     Count    `yaml:"max_queue,omitempty" in:"[1,1M]"`        // requests that wait here for one; absent: DefaultMaxQueue
	QueueTimeout Duration `yaml:"queue_timeout,omitempty" in:"[1ms,24h]"` // DefaultQueueTimeout when absent
	Shed         Shed     `yaml:"shed,omitempty"`
	Breaker      Breaker  `yaml:"breaker,omitempty"`
}

// Router says how an endpoint of a provider is picked.
type Router struct {
	Policy  string   `yaml:"policy,omitempty"`                 // prefix_affinity | least_loaded | round_robin; absent: prefix_affinity with metrics, else least_loaded
	LoadCap *float64 `yaml:"load_cap,omitempty" in:"[1,1000]"` // of prefix_affinity; route.DefaultLoadCap when absent
}

// Shed says from when on an endpoint takes no more, by its own metrics. When no
// endpoint takes any, requests wait in the queue, spill to a fallback, or are
// refused.
type Shed struct {
	Queue   Count   `yaml:"queue,omitempty" in:"[1,1M]"`   // requests that wait in the engine
	KVUsage float64 `yaml:"kv_usage,omitempty" in:"(0,1]"` // share of its KV cache in use, 0..1
}

// Breaker says when an endpoint is left alone; see health.Rules. Absent values
// are those of health.Unreliable.
type Breaker struct {
	Window      Duration `yaml:"window,omitempty" in:"[1ms,24h]"`
	MinRequests Count    `yaml:"min_requests,omitempty" in:"[1,1M]"`
	FailureRate float64  `yaml:"failure_rate,omitempty" in:"(0,1]"` // 0..1
	Open        Duration `yaml:"open,omitempty" in:"[1ms,24h]"`
	Probes      Count    `yaml:"probes,omitempty" in:"[1,1000]"`
}

// Model is a name that clients use and the deployments behind it.
type Model struct {
	Alias         string       `yaml:"alias"`
	MaxTokens     MaxTokens    `yaml:"max_tokens,omitempty"`
	Targets       []Target     `yaml:"targets"`
	Fallback      []Target     `yaml:"fallback,omitempty"` // tried in this order, before the first visible token only
	Sticky        string       `yaml:"sticky,omitempty"`   // what a canary's share is drawn by: request (default) | tenant | session
	CostCeiling   *CostCeiling `yaml:"cost_ceiling,omitempty"`
	Timeouts      Timeouts     `yaml:"timeouts,omitempty"`
	Retry         Retry        `yaml:"retry,omitempty"`
	Cache         Cache        `yaml:"cache,omitempty"`
	Filters       []string     `yaml:"filters,omitempty"`
	ResponseModel string       `yaml:"response_model,omitempty"` // model in answers: upstream (default) | alias
	// StoredResponses lets requests of the Responses API go on from what the
	// upstream has kept. It keeps no tenants apart.
	StoredResponses bool `yaml:"stored_responses,omitempty"`
}

// MaxTokens bounds the output of one request.
type MaxTokens struct {
	Default Count `yaml:"default,omitempty" in:"[1,1G]"` // for requests that name none; absent means Cap
	Cap     Count `yaml:"cap,omitempty" in:"[1,1G]"`     // larger requests are lowered to it
}

// Target is one deployment: a model of a provider, what it can do, and its share
// of the traffic.
type Target struct {
	Provider string `yaml:"provider"`
	Model    string `yaml:"model"`                        // the name that the provider knows
	Weight   *int   `yaml:"weight,omitempty" in:"[0,1M]"` // 1 when absent; 0 switches the target off. Fallbacks have none
	Canary   bool   `yaml:"canary,omitempty"`             // its metrics carry arm="canary"
	// Capabilities are what the deployment can do, of: tools, vision, json_schema,
	// embeddings, responses, and any other word that requests ask for by header.
	// Absent means that nothing is known against it, an empty list that it can do
	// none of them.
	Capabilities Words `yaml:"capabilities,omitempty"`
	Context      Count `yaml:"context,omitempty" in:"[1,1G]"` // tokens of prompt and answer that fit
	// TokensFactor is how many tokens of this model one token of the gateway's
	// estimate is: tokenizers differ. 1 when absent.
	TokensFactor float64  `yaml:"tokens_factor,omitempty" in:"[0.1,10]"`
	Classes      []string `yaml:"classes,omitempty"` // classes that it serves; absent means all
	Flag         string   `yaml:"flag,omitempty"`    // only for requests for which the flag is on, and then before targets without
	USDPer1M     Price    `yaml:"usd_per_1m,omitempty"`
	// WhenSaturated, of a fallback, takes requests for which the targets have no
	// room. On when absent.
	WhenSaturated *bool `yaml:"when_saturated,omitempty"`
}

// Price is $ per million tokens. An absent price is unknown, and costs nothing.
type Price struct {
	Input       *float64 `yaml:"input,omitempty" in:"0 or [0.000001,1M]"`
	CachedInput *float64 `yaml:"cached_input,omitempty" in:"0 or [0.000001,1M]"` // Input when absent
	Output      *float64 `yaml:"output,omitempty" in:"0 or [0.000001,1M]"`       // reasoning is output
}

// CostCeiling keeps dear deployments for requests that need them.
type CostCeiling struct {
	USDPerRequest    USD     `yaml:"usd_per_request" in:"[0.000000001,1M]"` // by estimated input and the most output that the request may have
	UnlessComplexity float64 `yaml:"unless_complexity" in:"(0,1]"`          // score from which on the ceiling does not hold, 0..1
}

// Timeouts bound one request. Absent ones have the defaults below.
type Timeouts struct {
	FirstToken Duration `yaml:"first_token,omitempty" in:"[1ms,24h]"` // streams: until the first event with output
	Idle       Duration `yaml:"idle,omitempty" in:"[1ms,24h]"`        // streams: between events afterwards
	Total      Duration `yaml:"total,omitempty" in:"[1ms,24h]"`       // the whole request
}

// Retry says what follows a try that failed before its first visible token.
type Retry struct {
	Attempts Count    `yaml:"attempts,omitempty" in:"[1,100]"` // tries in all; DefaultAttempts when absent
	Backoff  Duration `yaml:"backoff,omitempty" in:"[1us,1m]"` // before the second; see health.Backoff
	Budget   *float64 `yaml:"budget,omitempty" in:"[0,1]"`     // retries per request over ten seconds; see health.Budget
}

// Cache says which answers may be given again.
type Cache struct {
	Exact    bool      `yaml:"exact,omitempty"`               // equal requests at temperature 0
	TTL      Duration  `yaml:"ttl,omitempty" in:"[1ms,720h]"` // DefaultCacheTTL when absent
	Semantic *Semantic `yaml:"semantic,omitempty"`
	Charge   *float64  `yaml:"charge,omitempty" in:"[0,1]"` // share of the price that an answer from a cache costs; free when absent
}

// Semantic is a cache by meaning.
type Semantic struct {
	Enabled   bool    `yaml:"enabled"`
	Provider  string  `yaml:"provider,omitempty"`             // with /v1/embeddings
	Model     string  `yaml:"model,omitempty"`                // its embedding model
	Threshold float64 `yaml:"threshold,omitempty" in:"(0,1]"` // least cosine similarity, 0..1; DefaultSimilarity when absent
	// Timeout bounds the wait for an embedding, after which the model is asked.
	// DefaultEmbedding when absent.
	Timeout Duration `yaml:"timeout,omitempty" in:"[1ms,1m]"`
	// USDPer1M is what embeddings cost; they have input alone.
	USDPer1M InputPrice `yaml:"usd_per_1m,omitempty"`
}

// InputPrice is $ per million tokens of what has input alone. An absent price is
// unknown, and costs nothing.
type InputPrice struct {
	Input *float64 `yaml:"input,omitempty" in:"0 or [0.000001,1M]"`
}
