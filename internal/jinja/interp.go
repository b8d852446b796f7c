package jinja

import (
	"fmt"
	"maps"
	"time"
)

// What one rendering may cost. The largest real templates take some 50 steps for a
// message and make its text a few times over.
const (
	maxSteps = 4_000_000
	maxBytes = 256 << 20 // of all texts and lists made, also those dropped at once
	maxDepth = 1000      // of calls, expressions and values within one another
)

// Raised is what a template says by raise_exception.
type Raised struct{ Message string }

// Error returns the message alone.
func (r *Raised) Error() string { return r.Message }

// interp is one rendering.
type interp struct {
	out     *builder
	now     time.Time
	steps   int
	bytes   int
	depth   int
	line    int // of the expression last begun that knows its own
	globals map[string]Value
	filters map[string]filterFunc
	tests   map[string]testFunc
}

// scope holds the variables of a body.
type scope struct {
	values map[string]Value
	parent *scope
}

func (s *scope) set(name string, v Value) {
	if s.values == nil {
		s.values = map[string]Value{}
	}
	s.values[name] = v
}

func (s *scope) get(name string) (Value, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.values[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// Render runs the template with variables; now is what strftime_now tells. An error
// is *Raised when the template itself refused.
func (t *Template) Render(variables map[string]Value, now time.Time) (text Text, err error) {
	defer recoverFailure(&err)
	in := &interp{out: &builder{}, now: now, filters: filters, tests: tests}
	in.globals = maps.Clone(globals)
	in.block(t.body, &scope{values: maps.Clone(variables)})
	return in.out.text(), nil
}

func (in *interp) fail(format string, args ...any) {
	fail("line %d: %s", in.line, fmt.Sprintf(format, args...))
}

func (in *interp) step(n int) {
	if in.steps += n; in.steps > maxSteps {
		in.fail("template takes more than %d steps", maxSteps)
	}
}

// scan accounts for looking through texts.
func (in *interp) scan(texts ...Text) {
	for _, t := range texts {
		in.step(len(t.s) / 64)
	}
}

// make accounts for n bytes that are about to be made.
func (in *interp) make(n int) {
	if n < 0 || n > maxBytes-in.bytes {
		in.fail("template makes more than %d bytes", maxBytes)
	}
	in.bytes += n
}

func (in *interp) deeper() {
	in.step(1)
	if in.depth++; in.depth > maxDepth {
		in.fail("template nests more than %d deep", maxDepth)
	}
}

func (in *interp) shallower() { in.depth-- }

func (in *interp) eval(x expr, sc *scope) Value {
	in.deeper()
	v := x.eval(in, sc)
	in.depth--
	return v
}

func (in *interp) join(texts ...Text) Text {
	n := 0
	for _, t := range texts {
		n += len(t.s)
	}
	in.make(n)
	return concat(texts...)
}

func (in *interp) block(body []stmt, sc *scope) signal {
	for _, s := range body {
		in.step(1)
		if sig := s.exec(in, sc); sig != goOn {
			return sig
		}
	}
	return goOn
}

// capture returns what a body writes.
func (in *interp) capture(body []stmt, sc *scope) Text {
	in.deeper()
	defer in.shallower()
	outer := in.out
	in.out = &builder{}
	in.block(body, sc)
	text := in.out.text()
	in.out = outer
	return text
}

func (s dataStmt) exec(in *interp, _ *scope) signal {
	in.make(len(s.text.s))
	in.out.add(s.text)
	return goOn
}

func (s outputStmt) exec(in *interp, sc *scope) signal {
	t := in.str(in.eval(s.x, sc))
	in.make(len(t.s))
	in.out.add(t)
	return goOn
}

func (s ifStmt) exec(in *interp, sc *scope) signal {
	for i, test := range s.tests {
		if truth(in.eval(test, sc)) {
			return in.block(s.bodies[i], sc)
		}
	}
	return in.block(s.other, sc)
}

func (s jumpStmt) exec(*interp, *scope) signal { return s.to }

// assign gives values to the targets of a for or set.
func (in *interp) assign(sc *scope, targets []string, tuple bool, v Value) {
	if !tuple {
		sc.set(targets[0], v)
		return
	}
	items := in.items(v)
	if len(items) < len(targets) {
		in.fail("not enough values to unpack (expected %d, got %d)", len(targets), len(items))
	}
	if len(items) > len(targets) {
		in.fail("too many values to unpack (expected %d)", len(targets))
	}
	for i, name := range targets {
		sc.set(name, items[i])
	}
}

func (s setStmt) exec(in *interp, sc *scope) signal {
	v := in.eval(s.x, sc)
	if s.space == "" {
		in.assign(sc, s.targets, s.tuple, v)
		return goOn
	}
	of, _ := sc.get(s.space)
	ns, ok := of.(*namespace)
	if !ok {
		in.line = s.line
		in.fail("cannot assign attribute on non-namespace object")
	}
	ns.values[s.targets[0]] = v
	return goOn
}

func (s setBlock) exec(in *interp, sc *scope) signal {
	var v Value = in.capture(s.body, &scope{parent: sc})
	for _, f := range s.filters {
		v = f.apply(in, sc, v)
	}
	sc.set(s.name, v)
	return goOn
}

func (s filterStmt) exec(in *interp, sc *scope) signal {
	var v Value = in.capture(s.body, &scope{parent: sc})
	for _, f := range s.filters {
		v = f.apply(in, sc, v)
	}
	in.out.add(in.str(v))
	return goOn
}

func (s withStmt) exec(in *interp, sc *scope) signal {
	inner := &scope{parent: sc}
	for i, name := range s.names {
		inner.set(name, in.eval(s.values[i], sc))
	}
	return in.block(s.body, inner)
}

func (s macroStmt) exec(_ *interp, sc *scope) signal {
	sc.set(s.name, &macro{s, sc})
	return goOn
}

func (s callStmt) exec(in *interp, sc *scope) signal {
	call := s.call
	v := call.with(in, sc, &macro{s.caller, sc})
	in.out.add(in.str(v))
	return goOn
}

// macro is a macro with the variables that it sees.
type macro struct {
	macroStmt
	sc *scope
}

func (m *macro) call(in *interp, a args) Value {
	sc := &scope{parent: m.sc}
	for i, name := range m.params {
		v, ok := a.get(i, name)
		if !ok {
			if d := i - (len(m.params) - len(m.defaults)); d >= 0 {
				v = in.eval(m.defaults[d], sc)
			} else {
				v = undefined{fmt.Sprintf("parameter '%s' was not provided", name)}
			}
		}
		sc.set(name, v)
	}
	if len(a.list) > len(m.params) {
		sc.set("varargs", &List{Items: a.list[len(m.params):]})
	}
	if caller, ok := a.named["caller"]; ok {
		sc.set("caller", caller)
	}
	return in.capture(m.body, sc)
}
