package jinja

import "maps"

func (x callExpr) eval(in *interp, sc *scope) Value { return x.with(in, sc, nil) }

// with calls, with the macro that a call block passes as caller.
func (x callExpr) with(in *interp, sc *scope, caller *macro) Value {
	of := in.eval(x.of, sc)
	a := x.args.eval(in, sc)
	if caller != nil {
		a.named = maps.Clone(a.named)
		if a.named == nil {
			a.named = map[string]Value{}
		}
		a.named["caller"] = caller
	}
	in.line = x.line
	return in.call(of, a)
}

func (in *interp) call(of Value, a args) Value {
	in.deeper()
	defer in.shallower()
	switch of := in.known(of).(type) {
	case function:
		return of.call(in, a)
	case *macro:
		return of.call(in, a)
	case *loop:
		if of.recurse != nil && len(a.list) == 1 {
			return of.recurse(in, a.list[0])
		}
	}
	in.fail("'%s' object is not callable", typeName(of))
	return nil
}

// args are the values that a call, filter or test is given.
type args struct {
	list  []Value
	named map[string]Value
}

func (a arguments) eval(in *interp, sc *scope) (out args) {
	for _, x := range a.list {
		out.list = append(out.list, in.eval(x, sc))
	}
	for i, name := range a.names {
		if out.named == nil {
			out.named = map[string]Value{}
		}
		out.named[name] = in.eval(a.named[i], sc)
	}
	return out
}

// get returns the argument at a place or of a name.
func (a args) get(i int, name string) (Value, bool) {
	if v, ok := a.named[name]; ok {
		return v, true
	}
	if i >= 0 && i < len(a.list) {
		return a.list[i], true
	}
	return nil, false
}

func (x filterExpr) eval(in *interp, sc *scope) Value {
	return x.apply(in, sc, in.eval(x.x, sc))
}

func (x filterExpr) apply(in *interp, sc *scope, v Value) Value {
	a := x.args.eval(in, sc)
	in.line = x.line
	f, ok := in.filters[x.name]
	if !ok {
		in.fail("no filter named '%s'", x.name)
	}
	return f(in, v, a)
}

func (x testExpr) eval(in *interp, sc *scope) Value {
	v := in.eval(x.x, sc)
	a := x.args.eval(in, sc)
	in.line = x.line
	test, ok := in.tests[x.name]
	if !ok {
		in.fail("no test named '%s'", x.name)
	}
	return test(in, v, a) != x.not
}
