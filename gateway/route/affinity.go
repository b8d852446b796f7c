package route

// DefaultLoadCap is how far above the mean the load of an endpoint may be for its
// cache to be worth a longer wait.
const DefaultLoadCap = 1.25

// PrefixAffinity returns the endpoint whose cache holds most of the request's
// prompt, unless it has too much to do: more than loadCap times the mean load,
// plus one. Then it is the one that holds most among the others. Among equals it
// takes the least loaded, among those the turn-th; a prompt that nobody holds goes
// to the least loaded. Below zero, loadCap is no bound. Endpoints that rest or were
// tried are treated as by LeastLoaded.
//
// The bound is that of consistent hashing with bounded loads (Mirrokni, Thorup and
// Zadimoghaddam, SODA 2018), applied to a cache in the place of a hash: without
// it, a prompt that most requests begin with sends nearly all of them to one
// endpoint.
func PrefixAffinity(endpoints []Endpoint, loadCap float64, turn uint64) int {
	var sum, n int64
	for i := range endpoints {
		if e := &endpoints[i]; !e.Tried && !e.Resting {
			sum += e.load()
			n++
		}
	}
	within := func(e *Endpoint) bool {
		return loadCap < 0 || float64((e.load()-1)*n) <= loadCap*float64(sum)
	}
	return best(endpoints, turn, func(e, other *Endpoint) bool {
		if e.Resting != other.Resting {
			return other.Resting
		}
		if in := within(e); in != within(other) {
			return in
		}
		if e.Match != other.Match {
			return e.Match > other.Match
		}
		return e.before(other)
	})
}
