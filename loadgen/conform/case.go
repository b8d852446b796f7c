package conform

import (
	"context"
	"fmt"
	"path"
	"slices"
)

// Level says how much a case matters.
type Level string

// The levels. What a must-case asks for is what clients break without; a
// should-case is what careful servers do; an info-case tells a fact that is
// neither right nor wrong.
const (
	Must   Level = "must"
	Should Level = "should"
	Info   Level = "info"
)

// Levels are all levels, the strongest first.
var Levels = []Level{Must, Should, Info}

// AtLeast reports whether l is as strong as other, or stronger.
func (l Level) AtLeast(other Level) bool {
	return slices.Index(Levels, l) <= slices.Index(Levels, other)
}

// Suite is a set of cases.
type Suite string

// The suites. A gateway answers all cases of an engine, and more.
const (
	Engine  Suite = "engine"
	Gateway Suite = "gateway"
)

// Suites are all suites.
var Suites = []Suite{Engine, Gateway}

// Case is one rule, and how it is tried.
type Case struct {
	ID     string `json:"id"`              // a stable slug: group/name
	Title  string `json:"title"`           // what holds when it passes
	Why    string `json:"why"`             // who breaks without it
	Issue  string `json:"issue,omitempty"` // a public report of it, such as llm-d/llm-d#1564
	Level  Level  `json:"level"`
	Suite  Suite  `json:"suite"`
	Sends  string `json:"sent"`     // what is sent
	Expect string `json:"expected"` // what must come back

	needs need
	slow  bool // only with Options.Slow
	try   try
}

// try makes the requests of a case. It returns what it saw; an error says that
// it was not what the case expects, or a *skip why it could not be told.
type try func(ctx context.Context, p *probe) (seen string, err error)

// need is what has to work before a case can tell anything. Where it does not,
// the case is skipped: one fault should show as one failed case.
type need int

const (
	nothing need = iota
	whole        // answers that are not streamed
	stream       // answers that are
)

// Group is the first part of the ID.
func (c *Case) Group() string { return path.Dir(c.ID) }

// Slow reports whether the case runs only when it is asked for, since it takes
// minutes.
func (c *Case) Slow() bool { return c.slow }

// Cases are all cases in the order in which they run: first what others build on,
// late what may leave a server in a bad way. The other paths come late since some
// gateways rest a deployment that answers 404 to one of them.
func Cases() []Case {
	return slices.Concat(
		modelCases, wholeCases, streamCases, framingCases, usageCases, bufferingCases,
		errorCases, bodyCases, authCases, parameterCases, headerCases, cachingCases,
		connectionCases, halfClosedCases, cancelCases, limitCases, idempotencyCases, slowCases, apiCases, secretCases,
	)
}

// Select returns the cases of a suite whose IDs match one of the globs; no globs
// match all. A glob without a slash, such as stream or errors, names groups.
func Select(suite Suite, globs []string) ([]Case, error) {
	cases := Cases()
	used := make([]bool, len(globs))
	var selected []Case
	for _, c := range cases {
		if c.Suite == Gateway && suite != Gateway {
			continue
		}
		picked := len(globs) == 0
		for i, glob := range globs {
			match, err := c.matches(glob)
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", glob, err)
			}
			if match {
				picked, used[i] = true, true
			}
		}
		if picked {
			selected = append(selected, c)
		}
	}
	for i, glob := range globs {
		if !used[i] {
			return nil, fmt.Errorf("no case of suite %s matches %q%s", suite, glob, nearest(glob, cases))
		}
	}
	return selected, nil
}

func (c *Case) matches(glob string) (bool, error) {
	group, err := path.Match(glob, c.Group())
	if err != nil || group {
		return group, err
	}
	return path.Match(glob, c.ID)
}
