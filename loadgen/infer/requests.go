package infer

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// Request is what is known of one request that was seen.
type Request struct {
	At            time.Time     // when it came; zero when that is not known
	Closed        bool          // At is when it was sent because another one had ended
	Took          time.Duration // until its end; 0 when that is not known
	Input, Output int           // tokens; 0 when not known
	Cached        int           // prompt tokens found in a cache; −1 when not known
	Tenant        string        // this and the rest: empty when not known
	Class         string
	Model         string
	Session       string
}

// Bounds of what is told apart: a field with more values is no class or model.
const (
	maxClasses = 20
	maxModels  = 50
	maxTenants = 1_000_000
)

// Options say what a scenario is made for.
type Options struct {
	// Sessions makes requests of a session turns of one conversation: how much a
	// later turn adds is a guess then. Otherwise each request is its own, with the
	// whole prompt that it was seen with.
	Sessions bool

	// run is the workload of the run that the requests are of; nil otherwise.
	run *runWorkload
}

// sample gathers requests.
type sample struct {
	o             Options
	n             int
	arrivals      arrivals
	flights       flights // of a closed loop
	first, output []int   // prompts, of sessions only the first; answers
	later         int     // requests that continue a session
	cached        float64
	cacheable     float64
	cacheKnown    int
	tenants       map[string]struct{}
	classes       map[string]int
	models        map[string]int
	sessions      map[string]seen
	inSession     int
	think         time.Duration
	thinks        int
	thinkFromEnd  bool
}

// seen is the latest request of a session.
type seen struct{ at, end time.Time }

// FromRequests makes a scenario of requests: their lengths, rate over the day,
// shared prefix, tenants, classes, models and sessions, as far as they are known.
func FromRequests(requests iter.Seq[Request], o Options) (*Result, error) {
	s := sample{
		o:       o,
		tenants: map[string]struct{}{}, classes: map[string]int{}, models: map[string]int{},
		sessions: map[string]seen{}, thinkFromEnd: true,
	}
	for r := range requests {
		s.add(r)
	}
	if len(s.first) == 0 && len(s.output) == 0 {
		return nil, errors.New("no request has a count of tokens")
	}
	return s.scenario()
}

func (s *sample) add(r Request) {
	s.n++
	switch {
	case r.Closed:
		s.flights.add(r.At, r.Took)
	case !r.At.IsZero():
		s.arrivals.times = append(s.arrivals.times, r.At.UnixNano())
	}
	if r.Output > 0 {
		s.output = append(s.output, r.Output)
	}
	if later := s.continues(r); r.Input > 0 && (!later || !s.o.Sessions) {
		s.first = append(s.first, r.Input)
		if r.Cached >= 0 {
			s.cacheKnown++
			s.cached += float64(min(r.Cached, r.Input))
			s.cacheable += float64(r.Input)
		}
	}
	if len(s.tenants) < maxTenants && r.Tenant != "" {
		s.tenants[strings.Clone(r.Tenant)] = struct{}{}
	}
	tally(s.classes, r.Class, maxClasses)
	if isModelName(r.Model) {
		tally(s.models, r.Model, maxModels)
	}
}

// isModelName reports a name that a scenario can have.
func isModelName(s string) bool {
	return len(s) <= 200 && utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || c == utf8.RuneError })
}

// continues reports a request of a session that another one has begun.
func (s *sample) continues(r Request) bool {
	if r.Session == "" {
		return false
	}
	s.inSession++
	before, later := s.sessions[r.Session]
	if later {
		s.later++
		s.thinkFromEnd = s.thinkFromEnd && !before.end.IsZero()
		from := before.end
		if from.IsZero() {
			from = before.at
		}
		if !r.At.IsZero() && !from.IsZero() {
			s.think += max(0, r.At.Sub(from))
			s.thinks++
		}
	}
	now := seen{at: r.At}
	if r.Took > 0 && !r.At.IsZero() {
		now.end = r.At.Add(r.Took)
	}
	s.sessions[strings.Clone(r.Session)] = now
	return later
}

// tally counts a name; one more than limit, under no name, stands for all others.
func tally(counts map[string]int, name string, limit int) {
	if name == "" {
		return
	}
	if _, known := counts[name]; !known && len(counts) > limit {
		return
	}
	counts[strings.Clone(name)]++
}

func (s *sample) scenario() (*Result, error) {
	r := &Result{}
	w := &r.Scenario.Workload
	s.arrival(r)
	s.lengths(r, "input", s.first, &w.Input)
	s.lengths(r, "output", s.output, &w.Output)
	s.prefix(r)
	s.session(r)
	s.choices(r)
	return r.check()
}

func (s *sample) arrival(r *Result) {
	w := &r.Scenario.Workload
	if s.o.run != nil {
		if asked, ok := s.o.run.closed(); ok {
			w.Arrival = asked
			r.say("arrival", "%s, as the run was asked for", asked.Words())
			return
		}
	}
	if n := s.flights.most(); n > 0 && len(s.arrivals.times) == 0 {
		w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: n}
		r.say("arrival", "a closed loop, since %s requests say when they were sent and not when they were due; at most %s were in flight",
			number(len(s.flights.starts)), number(n))
		return
	}
	var ok bool
	if w.Arrival, ok = s.arrivals.fit(r); !ok {
		r.say("arrival", "not known: the requests have no times; give --rps or --concurrency")
	}
}

func (s *sample) lengths(r *Result, part string, lengths []int, to *profiles.Distribution) {
	if len(lengths) == 0 {
		r.say(part, "not known: no request says it; the command's default applies")
		return
	}
	var how string
	*to, how = fitLengths(lengths)
	what := "requests"
	if part == "input" && s.later > 0 && s.o.Sessions {
		what = "first requests of sessions"
	}
	r.say(part, "%s %s, mean %s tokens: %s", number(len(lengths)), what, units.Number(round(meanOf(lengths))), how)
}

func (s *sample) prefix(r *Result) {
	p := &r.Scenario.Workload.Prefix
	switch share := s.cached / s.cacheable; {
	case s.cacheKnown == 0:
		p.None = true
		r.say("prefix", "not known: no request says what was cached; nothing shared is assumed, which takes the most hardware")
	case share < 0.005:
		p.None = true
		r.say("prefix", "%s of the prompt tokens of %s requests were cached", percent(share), number(s.cacheKnown))
	default:
		p.Groups, p.Tokens = 1, prefixFor(share, s.first)
		r.say("prefix", "%s of the prompt tokens of %s requests were cached; in how many groups is not known, one is assumed",
			percent(share), number(s.cacheKnown))
	}
}

func (s *sample) session(r *Result) {
	s.turns(r)
	if !s.asked(r) {
		s.pauses(r)
	}
}

// turns are those of each session, where they are wanted.
func (s *sample) turns(r *Result) {
	if s.later == 0 {
		if s.inSession == 0 {
			r.say("session", "not known: no request says to which session it belongs; each is one of its own")
		}
		return
	}
	single := s.n - s.inSession
	if !s.o.Sessions {
		r.say("session", "%s requests in %s sessions; left out, each request is one of its own with its whole prompt (--sessions)", number(s.n), number(len(s.sessions)+single))
		return
	}
	w := &r.Scenario.Workload
	turns := float64(s.n) / float64(len(s.sessions)+single)
	w.Session.Turns = profiles.Distribution{Kind: profiles.Geometric, Mean: round(max(1, turns))}
	r.say("session", "%s requests in %s sessions; geometric is assumed; what a later request adds to its prompt is not known, it is taken to be as long as a first one without its prefix",
		number(s.n), number(len(s.sessions)+single))
}

// pauses are what was seen of the time between the turns of a session.
func (s *sample) pauses(r *Result) {
	w := &r.Scenario.Workload
	if s.thinks == 0 || w.Session.Turns == (profiles.Distribution{}) {
		return
	}
	mean := (s.think / time.Duration(s.thinks)).Round(time.Millisecond)
	if mean <= 0 {
		return
	}
	w.Session.Think = profiles.Delay{Kind: profiles.Exponential, Mean: mean}
	from := "from an answer to the next request"
	if !s.thinkFromEnd {
		from = "from a request to the next one, the answer's time included, since the log does not say it"
	}
	r.say("session", "think time of %s pauses, %s; exponential is assumed", number(s.thinks), from)
}

// asked takes over the think time that a run was asked for, which its records show
// less well: they do not say who sent what, and a session may wait for a place.
func (s *sample) asked(r *Result) bool {
	w := &r.Scenario.Workload
	if s.o.run == nil || w.Session.Turns == (profiles.Distribution{}) && w.Arrival.Process != profiles.Users {
		return false
	}
	think := s.o.run.think()
	if think == (profiles.Delay{}) {
		return false
	}
	w.Session.Think = think
	r.say("session", "think time %s, as the run was asked for", think)
	return true
}

// choices are tenants, classes and models.
func (s *sample) choices(r *Result) {
	w := &r.Scenario.Workload
	if n := len(s.tenants); n > 1 {
		w.Tenants = n
		r.say("tenants", "%s names; equal shares are assumed", number(n))
	} else {
		r.say("tenants", "%s", map[bool]string{true: "one name", false: "not known"}[n == 1])
	}
	classes, renamed := classNames(s.classes)
	switch {
	case len(s.classes) > maxClasses:
		r.say("classes", "left out: more than %d names are none of priority classes", maxClasses)
	case len(classes) == 0:
		r.say("classes", "not known")
	default:
		w.Classes = shares(classes)
		r.say("classes", "%s%s", plural(len(classes), "name"), map[bool]string{true: ", written with letters, digits, - and _ alone"}[renamed])
	}
	models(r, s.models)
}

// models are names on the wire when there are several. One is the scenario's model
// when its profile is built in; else it is left out, since an endpoint that is
// tried may well have another name for it.
func models(r *Result, counts map[string]int) {
	names := slices.Sorted(maps.Keys(counts))
	switch {
	case len(names) == 0:
		r.say("models", "not known")
	case len(names) > maxModels:
		r.say("models", "left out: more than %d names", maxModels)
	case len(names) == 1 && slices.Contains(profiles.ModelNames(), names[0]):
		r.Scenario.Model = names[0]
		r.say("models", "one name, of a built-in profile")
	case len(names) == 1:
		r.say("models", "one name, %q, which is no built-in profile and left out; give --model", names[0])
	default:
		r.Scenario.Workload.Models = shares(counts)
		r.say("models", "%s on the wire", plural(len(names), "name"))
	}
}

// classNames makes names of classes of whatever a log calls them, such as
// numbers of a priority.
func classNames(counts map[string]int) (names map[string]int, renamed bool) {
	names = map[string]int{}
	for class, n := range counts {
		name := strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
				return c
			}
			return '-'
		}, class)
		name = name[:min(64, len(name))]
		renamed = renamed || name != class
		names[name] += n
	}
	return names, renamed
}
