package jinja

import "strings"

// Value is what an expression yields: nil (Python's None), bool, int64, float64,
// BigInt, Text, *List, *Dict, undefined, or one of the package's own things that can
// be called or have attributes.
type Value any

// BigInt is a whole number beyond 64 bits, as its digits. It can be shown and
// compared with itself, not computed with.
type BigInt string

// List is a list that nothing changes. One that a filter such as map yields can be
// walked once, as in Python, and has no length.
type List struct {
	Items     []Value
	tuple     bool // it prints with round brackets
	generator bool
	spent     bool
}

// Dict is a mapping that keeps the order in which its keys came.
type Dict struct {
	keys   []Value
	values map[any]Value // by hashed
}

// NewDict returns an empty mapping.
func NewDict() *Dict { return &Dict{values: map[any]Value{}} }

// Set puts a value under a key; a key that is there keeps its place.
func (d *Dict) Set(key Text, v Value) { d.set(key, v) }

// Get returns the value of a key.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// hashed is what a key is found by; ok is false for what cannot be a key.
func hashed(key Value) (h any, ok bool) {
	switch key := key.(type) {
	case Text:
		return key.s, true
	case bool, int64, float64:
		i, f, isInt, _ := number(key)
		if isInt {
			return i, true
		}
		return f, true
	case nil:
		return nil, true
	}
	return nil, false
}

func (d *Dict) set(key, v Value) (ok bool) {
	h, ok := hashed(key)
	if !ok {
		return false
	}
	if _, ok := d.values[h]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[h] = v
	return true
}

func (d *Dict) get(key Value) (Value, bool) {
	h, ok := hashed(key)
	if !ok {
		return nil, false
	}
	v, ok := d.values[h]
	return v, ok
}

// at is the value of a key that is there.
func (d *Dict) at(key Value) Value {
	v, _ := d.get(key)
	return v
}

// namespace is the only thing whose attributes a template can set.
type namespace struct{ values map[string]Value }

// undefined is a variable, attribute or element that is not there, with the words of
// jinja2 for it. It is false, empty and prints nothing; any other use of it fails.
type undefined struct{ problem string }

type function struct {
	name string
	call func(in *interp, a args) Value
}

// typeName is a value's type as Python's messages call it.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, BigInt:
		return "int"
	case float64:
		return "float"
	case Text:
		return "str"
	case *List:
		if v.generator {
			return "generator"
		}
		return "list"
	case *Dict:
		return "dict"
	case undefined:
		return "Undefined"
	case *namespace:
		return "Namespace"
	case *loop:
		return "LoopContext"
	case *macro:
		return "Macro"
	default:
		return "function"
	}
}

// objectName is jinja2's object_type_repr.
func objectName(v Value) string {
	if v == nil {
		return "None"
	}
	return typeName(v) + " object"
}

func truth(v Value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case Text:
		return v.s != ""
	case *List:
		return v.generator || len(v.Items) > 0
	case *Dict:
		return len(v.keys) > 0
	default:
		return true
	}
}

// number returns a bool, int64 or float64 as Python's arithmetic takes it.
func number(v Value) (i int64, f float64, isInt, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, true, true
		}
		return 0, 0, true, true
	case int64:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

func (in *interp) equal(a, b Value) bool {
	in.deeper()
	defer in.shallower()
	if i, f, aInt, ok := number(a); ok {
		j, g, bInt, ok := number(b)
		return ok && (aInt && bInt && i == j || (!aInt || !bInt) && f == g)
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case BigInt:
		b, ok := b.(BigInt)
		return ok && a == b
	case Text:
		b, ok := b.(Text)
		in.scan(a)
		return ok && a.s == b.s
	case undefined:
		_, ok := b.(undefined)
		return ok
	case *List:
		b, ok := b.(*List)
		if !ok || a.generator || b.generator || len(a.Items) != len(b.Items) {
			return ok && a == b
		}
		for i := range a.Items {
			if !in.equal(a.Items[i], b.Items[i]) {
				return false
			}
		}
		return true
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for _, k := range a.keys {
			if w, ok := b.get(k); !ok || !in.equal(a.at(k), w) {
				return false
			}
		}
		return true
	case *namespace, *loop, *macro:
		return a == b
	}
	return false
}

// order compares as Python's < does; it fails for types that have no order.
func (in *interp) order(a, b Value, op string) int {
	if i, f, aInt, ok := number(a); ok {
		if j, g, bInt, ok := number(b); ok {
			if aInt && bInt {
				return compareOrdered(i, j)
			}
			return compareOrdered(f, g)
		}
	}
	if a, ok := a.(Text); ok {
		if b, ok := b.(Text); ok {
			in.scan(a)
			return strings.Compare(a.s, b.s)
		}
	}
	in.fail("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
	return 0
}

func compareOrdered[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
