package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/llmctl/llmctl/internal/jsonscan"
)

// Unmarshal is json.Unmarshal of a request, but for two things: a key counts only when
// it is written exactly as a field's name, where encoding/json takes "N" for "n" as
// well, and of a key that comes twice the last one alone counts. It overwrites the keys
// in data that do not count.
func Unmarshal(data []byte, v any) error {
	s := jsonscan.New(data)
	blank(&s, reflect.TypeOf(v))
	return json.Unmarshal(data, v) // which finds what is wrong with the JSON, if anything
}

// blank reads a value that is meant for a type and overwrites those keys in it that do
// not count.
func blank(s *jsonscan.Scanner, t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil || t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler):
		s.Skip() // those of our own that have structs call Unmarshal
	case t.Kind() == reflect.Struct && s.Peek() == '{':
		fields := fieldsOf(t)
		seen := map[string][]byte{}
		s.Object()
		for key, ok := s.RawKey(); ok; key, ok = s.RawKey() {
			name := string(jsonscan.AppendUnquoted(nil, key))
			field, exact := fields[name]
			switch {
			case exact:
				overwrite(seen[name])
				seen[name] = key
			case folds(fields, name):
				overwrite(key)
			}
			blank(s, field)
		}
	case t.Kind() == reflect.Slice && s.Peek() == '[':
		s.Array()
		for s.Element() {
			blank(s, t.Elem())
		}
	case t.Kind() == reflect.Map && s.Peek() == '{':
		s.Object()
		for _, ok := s.RawKey(); ok; _, ok = s.RawKey() {
			blank(s, t.Elem())
		}
	default:
		s.Skip()
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// overwrite makes a key one that no field has, of the same length. An empty key is none
// already.
func overwrite(key []byte) {
	for i := range key {
		key[i] = '-'
	}
}

func folds(fields map[string]reflect.Type, name string) bool {
	for f := range fields {
		if strings.EqualFold(f, name) {
			return true
		}
	}
	return false
}

var known sync.Map // of reflect.Type: map[string]reflect.Type

// fieldsOf are the types of a struct's fields by their names in JSON, those of embedded
// structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if f, ok := known.Load(t); ok {
		return f.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" || !f.IsExported() || name == "-":
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	known.Store(t, fields)
	return fields
}

// FieldType is the type of the field at a path, "a.b", below a type; nil where there is none.
// Items of lists and values of maps have the path of these.
func FieldType(t reflect.Type, path string) reflect.Type {
	for name := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
		if t = fieldsOf(t)[name]; t == nil {
			return nil
		}
	}
	return t
}
