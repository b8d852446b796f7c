package jinja

import (
	"math"
	"strings"
)

func (x unaryExpr) eval(in *interp, sc *scope) Value {
	v := in.eval(x.x, sc)
	if x.op == "not" {
		return !truth(v)
	}
	in.line = x.line
	i, f, isInt, ok := number(in.known(v))
	if !ok {
		in.fail("bad operand type for unary %s: '%s'", x.op, typeName(v))
	}
	if x.op == "-" {
		i, f = -i, -f
	}
	if isInt {
		return i
	}
	return f
}

func (x binaryExpr) eval(in *interp, sc *scope) Value {
	a, b := in.eval(x.x, sc), in.eval(x.y, sc)
	in.line = x.line
	in.known(a)
	in.known(b)
	if i, f, aInt, ok := number(a); ok {
		if j, g, bInt, ok := number(b); ok {
			if aInt && bInt && x.op != "/" {
				return in.integer(x.op, i, j)
			}
			return in.float(x.op, f, g)
		}
	}
	switch x.op {
	case "+":
		return in.plus(a, b)
	case "*":
		if n, _, isInt, ok := number(a); ok && isInt {
			return in.times(b, n)
		}
		if n, _, isInt, ok := number(b); ok && isInt {
			return in.times(a, n)
		}
	case "%":
		if t, ok := a.(Text); ok {
			return in.percent(t, b)
		}
	}
	in.fail("unsupported operand type(s) for %s: '%s' and '%s'", x.op, typeName(a), typeName(b))
	return nil
}

func (in *interp) plus(a, b Value) Value {
	switch a := a.(type) {
	case Text:
		b, ok := b.(Text)
		if !ok {
			break
		}
		return in.join(a, b)
	case *List:
		b, ok := b.(*List)
		if !ok || a.generator || b.generator {
			break
		}
		in.make(16 * (len(a.Items) + len(b.Items)))
		return &List{Items: append(append([]Value{}, a.Items...), b.Items...)}
	}
	switch a.(type) {
	case Text, *List:
		name := typeName(a)
		in.fail(`can only concatenate %s (not "%s") to %s`, name, typeName(b), name)
	}
	in.fail("unsupported operand type(s) for +: '%s' and '%s'", typeName(a), typeName(b))
	return nil
}

func (in *interp) times(v Value, n int64) Value {
	n = max(n, 0)
	count := func(size int) int {
		if size == 0 || n == 0 {
			return 0
		}
		if n > maxBytes/int64(size) {
			in.make(maxBytes + 1)
		}
		in.make(size * int(n))
		return int(n)
	}
	switch v := v.(type) {
	case Text:
		var b builder
		for range count(len(v.s)) {
			b.add(v)
		}
		return b.text()
	case *List:
		if v.generator {
			break
		}
		var out []Value
		for range count(16*len(v.Items) + 16) {
			out = append(out, v.Items...)
		}
		return &List{Items: out}
	}
	in.fail("unsupported operand type(s) for *: '%s' and 'int'", typeName(v))
	return nil
}

func (in *interp) integer(op string, i, j int64) Value {
	var out int64
	var ok bool
	switch op {
	case "+":
		out = i + j
		ok = (out > i) == (j > 0)
	case "-":
		out = i - j
		ok = (out < i) == (j > 0)
	case "*":
		out = i * j
		ok = i == 0 || out/i == j && (i != -1 || j != math.MinInt64)
	case "**":
		return in.power(i, j)
	default:
		if j == 0 {
			in.fail("integer division or modulo by zero")
		}
		q, r := i/j, i%j
		if r != 0 && (r < 0) != (j < 0) {
			q, r = q-1, r+j
		}
		if op == "%" {
			return r
		}
		return q
	}
	if !ok {
		in.fail("%d %s %d is out of range", i, op, j)
	}
	return out
}

func (in *interp) power(i, j int64) Value {
	f := math.Pow(float64(i), float64(j))
	if j < 0 {
		return f
	}
	if math.Abs(f) >= 1<<63 {
		in.fail("%d ** %d is out of range", i, j)
	}
	out := int64(1)
	for ; j > 0; j >>= 1 {
		if j&1 == 1 {
			out *= i
		}
		i *= i
	}
	return out
}

func (in *interp) float(op string, f, g float64) Value {
	if g == 0 && (op == "/" || op == "//" || op == "%") {
		in.fail("division by zero")
	}
	switch op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	case "/":
		return f / g
	case "//":
		return math.Floor(f / g)
	case "%":
		return f - g*math.Floor(f/g)
	default:
		return math.Pow(f, g)
	}
}

// percent is Python's format % values, for %s, %d, %r and %%.
func (in *interp) percent(format Text, v Value) Value {
	values := []Value{v}
	if l, ok := v.(*List); ok && !l.generator {
		values = l.Items
	}
	var parts []Text
	at := 0
	for {
		i := strings.IndexByte(format.s[at:], '%')
		if i < 0 {
			break
		}
		i += at
		parts = append(parts, format.slice(at, i))
		if i+1 == len(format.s) {
			in.fail("incomplete format")
		}
		verb := format.s[i+1]
		at = i + 2
		if verb == '%' {
			parts = append(parts, format.slice(i, i+1))
			continue
		}
		if len(values) == 0 {
			in.fail("not enough arguments for format string")
		}
		switch verb {
		case 's', 'd', 'i':
			parts = append(parts, in.str(values[0]))
		case 'r':
			parts = append(parts, in.repr(values[0]))
		default:
			in.fail("format %%%c is not supported", verb)
		}
		values = values[1:]
	}
	if len(values) > 0 && len(parts) > 0 {
		in.fail("not all arguments converted during string formatting")
	}
	return in.join(append(parts, format.slice(at, len(format.s)))...)
}
