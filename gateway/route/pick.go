package route

// Endpoint is what a pick needs to know of one endpoint.
type Endpoint struct {
	Load int64 // requests that were sent there and have not ended
	// Waiting are those of them that the endpoint itself says it has not begun;
	// 0 where it says nothing. They count twice: a running request shares its
	// steps with a new one, a waiting one goes before it.
	Waiting int64
	// Usage is the share of its KV cache that is in use, 0..1; 0 where it says
	// nothing. From Crowded on it comes after the others: what it takes in
	// displaces cached prompts, or preempts.
	Usage   float64
	Match   int  // blocks of the request's prompt that its cache should hold
	Resting bool // better left alone, while others are there
	Tried   bool // by this request, in vain: never again
}

// Crowded is the share of a KV cache in use from which an endpoint is taken for
// full.
const Crowded = 0.9

// load is Load + Waiting.
func (e *Endpoint) load() int64 { return e.Load + e.Waiting }

// before orders endpoints by how willingly they are picked: fit before resting,
// with room before crowded, then by load. Nothing else of them counts.
func (e *Endpoint) before(other *Endpoint) bool {
	if e.Resting != other.Resting {
		return other.Resting
	}
	if crowded := e.Usage >= Crowded; crowded != (other.Usage >= Crowded) {
		return !crowded
	}
	return e.load() < other.load()
}

// LeastLoaded returns the index of the smallest load among the endpoints that
// were not tried and do not rest; when all that are left rest, among those.
// Among equals it takes the turn-th, so that calls with a growing turn go round
// them; with nothing to pick from the answer is −1.
func LeastLoaded(endpoints []Endpoint, turn uint64) int {
	return best(endpoints, turn, (*Endpoint).before)
}

// RoundRobin returns the turn-th endpoint that was not tried and does not rest,
// whatever its load; when all that are left rest, the turn-th of those. With
// nothing to pick from the answer is −1.
func RoundRobin(endpoints []Endpoint, turn uint64) int {
	return best(endpoints, turn, func(e, other *Endpoint) bool { return !e.Resting && other.Resting })
}

// best returns the turn-th of the endpoints that none is before.
func best(endpoints []Endpoint, turn uint64, before func(e, other *Endpoint) bool) int {
	first, ties := -1, uint64(0)
	for i := range endpoints {
		e := &endpoints[i]
		switch {
		case e.Tried:
		case first < 0 || before(e, &endpoints[first]):
			first, ties = i, 1
		case !before(&endpoints[first], e):
			ties++
		}
	}
	if first < 0 {
		return -1
	}
	skip := turn % ties
	for i := first; ; i++ {
		e := &endpoints[i]
		if e.Tried || before(&endpoints[first], e) {
			continue
		}
		if skip == 0 {
			return i
		}
		skip--
	}
}
