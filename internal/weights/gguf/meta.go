package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Types of metadata values (docs/gguf.md, gguf_metadata_value_type).
const (
	typeU8 uint32 = iota
	typeI8
	typeU16
	typeI16
	typeU32
	typeI32
	typeF32
	typeBool
	typeString
	typeArray
	typeU64
	typeI64
	typeF64
	numTypes
)

// metaTypes are their names, and the bytes of one; of strings and arrays the least.
var metaTypes = [numTypes]struct {
	name  string
	bytes uint64
}{
	{"uint8", 1}, {"int8", 1}, {"uint16", 2}, {"int16", 2}, {"uint32", 4}, {"int32", 4}, {"float32", 4},
	{"bool", 1}, {"string", 8}, {"array", 12}, {"uint64", 8}, {"int64", 8}, {"float64", 8},
}

// value is a metadata value in its bytes. It decodes only when it is asked for: a
// vocabulary has hundreds of thousands of strings.
type value struct {
	of    uint32 // type, of the elements where it is an array
	array bool
	count int    // elements of an array; 1 for other values
	raw   []byte // the elements one after the other, strings with their lengths
}

func (v value) String() string {
	if v.array {
		return fmt.Sprintf("an array of %d × %s", v.count, metaTypes[v.of].name)
	}
	return metaTypes[v.of].name
}

// readValue reads a value of type t.
func (r *reader) readValue(t uint32) value {
	v := value{of: t, count: 1}
	if t == typeArray {
		v.array, v.of = true, r.u32("type of an array")
		n := r.u64("count of an array")
		if r.err == nil && v.of == typeArray {
			r.fail("an array of arrays is not supported")
		}
		if r.err == nil && v.of < numTypes && n > r.left()/metaTypes[v.of].bytes {
			r.fail("an array of %d × %s at byte %d is beyond the end of the file", n, metaTypes[v.of].name, r.at)
		}
		if r.err == nil {
			v.count = int(n)
		}
	}
	if r.err == nil && v.of >= numTypes {
		r.fail("type %d of a metadata value is not known", v.of)
	}
	if r.err != nil {
		return value{}
	}
	if v.of != typeString {
		v.raw = r.take(uint64(v.count)*metaTypes[v.of].bytes, metaTypes[v.of].name)
		return v
	}
	begin := r.at
	for range v.count {
		r.text("string")
		if r.err != nil {
			return value{}
		}
	}
	v.raw = r.data[begin:r.at]
	return v
}

// find looks for a key whose value is of a type that fits, alone or as an array.
func (f *File) find(key, want string, array bool, fits func(of uint32) bool) (value, bool, error) {
	v, ok := f.meta[key]
	switch {
	case !ok:
		return value{}, false, nil
	case v.array != array || !fits(v.of):
		return value{}, false, fmt.Errorf("metadata %.100q is %s, expected %s", key, v, want)
	}
	return v, true, nil
}

func isString(of uint32) bool { return of == typeString }
func isBool(of uint32) bool   { return of == typeBool }
func isFloat(of uint32) bool  { return of == typeF32 || of == typeF64 }
func isWhole(of uint32) bool {
	return of <= typeI32 || of == typeU64 || of == typeI64
}

// String is the string of a key; false if the file does not have it. An error says
// that the value is of another type.
func (f *File) String(key string) (string, bool, error) {
	v, ok, err := f.find(key, "a string", false, isString)
	if !ok {
		return "", false, err
	}
	return string(v.raw[8:]), true, nil
}

// Bool is a truth value, as String.
func (f *File) Bool(key string) (is, found bool, err error) {
	v, ok, err := f.find(key, "a bool", false, isBool)
	if !ok {
		return false, false, err
	}
	return v.raw[0] != 0, true, nil
}

// Uint is a whole number of any width that is not negative, as String.
func (f *File) Uint(key string) (uint64, bool, error) {
	v, ok, err := f.find(key, "a whole number", false, isWhole)
	if !ok {
		return 0, false, err
	}
	if v.of == typeU64 {
		return binary.LittleEndian.Uint64(v.raw), true, nil
	}
	n := v.whole(0)
	if n < 0 {
		return 0, false, fmt.Errorf("metadata %.100q is %d, expected no negative number", key, n)
	}
	return uint64(n), true, nil
}

// Float is a number with a fraction, as String.
func (f *File) Float(key string) (float64, bool, error) {
	v, ok, err := f.find(key, "a float", false, isFloat)
	if !ok {
		return 0, false, err
	}
	return v.float(0), true, nil
}

// Strings is an array of strings, as String.
func (f *File) Strings(key string) ([]string, bool, error) {
	v, ok, err := f.find(key, "an array of strings", true, isString)
	if !ok {
		return nil, false, err
	}
	// One copy of all is far less work than one of each.
	all, list := string(v.raw), make([]string, v.count)
	for i, at := 0, 0; i < v.count; i++ {
		n := int(binary.LittleEndian.Uint64(v.raw[at:]))
		list[i] = all[at+8 : at+8+n]
		at += 8 + n
	}
	return list, true, nil
}

// Ints is an array of whole numbers, as String. A number alone is an array of one:
// writers shorten a list per layer to one number where it is the same for all.
func (f *File) Ints(key string) ([]int64, bool, error) {
	v, ok, err := f.find(key, "whole numbers", f.meta[key].array, isWhole)
	if !ok {
		return nil, false, err
	}
	list := make([]int64, v.count)
	for i := range list {
		if list[i] = v.whole(i); v.of == typeU64 && list[i] < 0 {
			return nil, false, fmt.Errorf("metadata %.100q holds %d, which is too large", key, uint64(list[i]))
		}
	}
	return list, true, nil
}

// Floats is an array of numbers with a fraction, as String.
func (f *File) Floats(key string) ([]float64, bool, error) {
	v, ok, err := f.find(key, "an array of floats", true, isFloat)
	if !ok {
		return nil, false, err
	}
	list := make([]float64, v.count)
	for i := range list {
		list[i] = v.float(i)
	}
	return list, true, nil
}

// whole is element i of whole numbers; a uint64 keeps its bits.
func (v value) whole(i int) int64 {
	b := v.raw[uint64(i)*metaTypes[v.of].bytes:]
	switch v.of {
	case typeU8:
		return int64(b[0])
	case typeI8:
		return int64(int8(b[0]))
	case typeU16:
		return int64(binary.LittleEndian.Uint16(b))
	case typeI16:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case typeU32:
		return int64(binary.LittleEndian.Uint32(b))
	case typeI32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	default:
		return int64(binary.LittleEndian.Uint64(b))
	}
}

// float is element i of floats.
func (v value) float(i int) float64 {
	if v.of == typeF32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.raw[4*i:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(v.raw[8*i:]))
}
