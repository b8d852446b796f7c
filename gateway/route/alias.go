package route

// Alias is what choosing needs to know of a name that clients use.
type Alias struct {
	Name      string
	Sticky    Sticky
	Targets   []Target // drawn by weight
	Fallbacks []Target // tried afterwards, in this order; their weights do not count
	Flags     []Flag   // those that targets name
	// Ceiling, in $, keeps targets that could cost more from requests whose
	// complexity is below Complex; 0 is no ceiling.
	Ceiling float64
	Complex float64 // 0..1
}

// Sticky says what a draw is made for: all requests of one tenant, or of one
// session, fall on the same target as long as the alias stays as it is.
type Sticky int

const (
	ByRequest Sticky = iota // each is drawn anew
	ByTenant
	BySession // of a tenant; requests without a session are drawn each
)

// Target is what choosing needs to know of one deployment.
type Target struct {
	Name         string   // what its share is drawn by: stable over restarts and on every gateway
	Weight       int      // share of the traffic; below one it is switched off
	Canary       bool     // takes what is drawn for it, and nothing that another one failed at
	Capabilities []string // nil: nothing is known against it
	Classes      []string // latency classes that it serves; nil: all
	Flag         string   // empty: for all requests
	Kind         string   // of its provider: the protocol that requests are put into
	Context      int64    // tokens of prompt and answer that fit; 0: unknown
	// TokensFactor is how many of its tokens one of the gateway's estimate is,
	// since tokenizers differ; 0 means 1.
	TokensFactor float64
	InputUSD     float64 // per token
	OutputUSD    float64 // per token
}

// Flag is a feature flag: on for the tenants it lists and for a percentage of
// all others.
type Flag struct {
	Name    string
	Percent float64 // 0..100
	Tenants []string
}

// Features are what choosing reads of a request.
type Features struct {
	Tenant     string
	Session    string // empty: none
	Class      string
	Needs      []string // capabilities without which it can not be answered
	Unfit      []string // kinds of provider whose protocol cannot express it
	Input      int64    // tokens of the prompt, estimated
	Output     int64    // tokens of one answer that were asked for; 0 when there is no bound
	MostOutput int64    // tokens of all answers together, for what it may cost
	Complexity float64  // 0..1, see Complexity
	Draw       uint64   // uniform over all of uint64
}

// tokens is what the request fills of a target's context at most.
func (f *Features) tokens(t *Target) int64 { return t.count(f.Input) + f.Output }

// cost is the most that the request may cost at a target, $.
func (f *Features) cost(t *Target) float64 {
	return float64(t.count(f.Input))*t.InputUSD + float64(f.MostOutput)*t.OutputUSD
}

// count is a number of the gateway's tokens in those of the target.
func (t *Target) count(tokens int64) int64 {
	if t.TokensFactor == 0 || t.TokensFactor == 1 {
		return tokens
	}
	return int64(float64(tokens)*t.TokensFactor + 0.999)
}
