package limit

// Ask is what a request may use.
type Ask struct {
	Tokens
	// Unbounded says that the client named no output limit, so that Output is only an
	// assumption, which must not keep a request out: see Within.
	Unbounded bool
	// Cost is what tokens cost at most; nil means nothing.
	Cost func(Tokens) Money
	// Counted says that the request was counted before, with a reservation of its own
	// for what came first: it does not count as a second one.
	Counted bool
}

// leastShare is the part of an assumed output that must be there for a request to be
// let in: an eighth. With less, requests would be let in one by one as single tokens
// flow in, and each could use as much as any other.
const leastShare = 8

// Span is what a request reserves: Most where there is as much, else what is there,
// and never less than Least. They differ in output and cost only.
type Span struct {
	Most, Least Use
	Counted     bool
}

// Requests is how many the reservation counts as.
func (s Span) Requests() int64 {
	if s.Counted {
		return 0
	}
	return 1
}

// Within is what the request reserves of scopes with the bounds. One that says how much
// it may use reserves that. Of one that does not, Output is an assumption. It is cut to
// the smallest limit, else a small tenant's first request could never pass, and further
// to what is left in the buckets, down to an eighth; and so is its cost, to what is left
// of the budgets. A reservation never takes more than there is: what a request uses
// beyond it becomes debt when it is settled, which the refill pays before anybody gets
// in again.
func (a Ask) Within(bounds ...Bounds) Span {
	most := a.clamped()
	if !a.Unbounded {
		use := Use{Tokens: most, Cost: a.cost(most)}
		return Span{use, use, a.Counted}
	}
	for _, b := range bounds {
		if b.OutputTPM > 0 {
			most.Output = min(most.Output, b.OutputTPM)
		}
	}
	least := Tokens{Input: most.Input, Output: (most.Output + leastShare - 1) / leastShare}
	s := Span{Use{most, a.cost(most)}, Use{least, a.cost(least)}, a.Counted}
	for _, b := range bounds {
		for _, budget := range []Money{b.Day, b.Month} {
			if budget > 0 {
				s.Most.Cost = min(s.Most.Cost, budget)
			}
		}
	}
	s.Least.Cost = min(s.Least.Cost, s.Most.Cost)
	return s
}

func (a Ask) cost(t Tokens) Money {
	if a.Cost == nil {
		return 0
	}
	return a.Cost(t).clamped(maxCost)
}

// atLeast raises to the least what was cut to less.
func (s Span) atLeast(u Use) Use {
	u.Output, u.Cost = max(u.Output, s.Least.Output), max(u.Cost, s.Least.Cost)
	return u
}

// spare cuts output and cost to what the scope has left.
func (s *Scope) spare(u Use) Use {
	if s.output.limited() {
		u.Output = min(u.Output, s.output.Level)
	}
	if s.bounds.Day > 0 {
		u.Cost = min(u.Cost, s.bounds.Day-s.day.Spent-s.held)
	}
	if s.bounds.Month > 0 {
		u.Cost = min(u.Cost, s.bounds.Month-s.month.Spent-s.held)
	}
	return u
}
