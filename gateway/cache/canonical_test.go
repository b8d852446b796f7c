package cache

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func canonical(t testing.TB, document string) string {
	t.Helper()
	out, ok := Canonical(nil, []byte(document), isUnrelated)
	if !ok {
		t.Fatalf("no canonical form of %s", document)
	}
	return string(out)
}

func TestDocumentsWithTheSameValuesAreEqual(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"a":1,"b":2}`, ` { "b" : 2 , "a" : 1 } `},
		{`{"a":{"x":[1,{"c":1,"d":2}],"y":null}}`, `{"a":{"y":null,"x":[1,{"d":2,"c":1}]}}`},
		{`{"a":"é🙂/"}`, `{"a":"\u00e9\ud83d\ude42\/"}`},
		{`{"a":"\"\\\n\t\r\b\f"}`, `{"\u0061":"\u0022\u005c\u000a\u0009\u000d\u0008\u000c"}`},
		{`{"m":1,"user":"x","stream":true,"stream_options":{},"metadata":{"k":"v"}}`, `{"m":1,"stream":false}`},
	} {
		if canonical(t, pair[0]) != canonical(t, pair[1]) {
			t.Errorf("%s and %s have different forms", pair[0], pair[1])
		}
	}
}

func TestDocumentsWithOtherValuesDiffer(t *testing.T) {
	documents := []string{
		`{"a":1}`, `{"a":1.0}`, `{"a":"1"}`, `{"a":true}`, `{"a":false}`, `{"a":null}`, `{}`, `{"a":[]}`, `{"a":{}}`,
		`{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[[1],2]}`, `{"a":[1,[2]]}`, `{"a":[12]}`, `{"a":1,"b":1}`,
		`{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":"\ud800"}`, `{"a":"\ufffd"}`, `{"a":"\udc00"}`, `{"a":"\ud800\ud800"}`,
		`{"a":"x","b":"y"}`, `{"a":"x\",\"b\":\"y"}`, `{"a":"]"}`, `{"a":{"user":"x"}}`, `{"a":{"stream":true}}`, `{"User":"x"}`,
	}
	seen := map[string]string{}
	for _, d := range documents {
		form := canonical(t, d)
		if other, ok := seen[form]; ok {
			t.Errorf("%s and %s have the same form", d, other)
		}
		seen[form] = d
	}
}

func TestWhatIsNotJSONHasNoForm(t *testing.T) {
	deep := bytes.Repeat([]byte("["), maxNesting+2)
	for _, d := range []string{
		``, ` `, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{a:1}`, `[1,]`, `[1 2]`, `tru`, `nul`, `01`, `1.`, `.5`, `1e`, `+1`, `-`,
		`"a`, `"\`, `"\x"`, `"\u12"`, "\"\n\"", "\"\xff\"", `{} {}`, string(deep) + string(bytes.Repeat([]byte("]"), maxNesting+2)),
	} {
		if out, ok := Canonical(nil, []byte(d), nil); ok {
			t.Errorf("%q has the form %q", d, out)
		}
	}
}

// Whatever order keys are written in, and however characters are escaped, the
// form is the same; and it changes when any value does.
func TestFormFollowsTheValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := jsonValue(3).Draw(t, "document")
		other := jsonValue(3).Draw(t, "other")
		form := func(v any, write func(any) []byte) string {
			out, ok := Canonical(nil, write(v), nil)
			if !ok {
				t.Fatalf("no form of %s", write(v))
			}
			return string(out)
		}
		plain := func(v any) []byte { data, _ := json.Marshal(v); return data }
		indented := func(v any) []byte {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.SetIndent("\t", "  ")
			_ = e.Encode(v)
			return b.Bytes()
		}
		if form(document, plain) != form(document, indented) {
			t.Fatalf("the form of %s depends on how it is written", plain(document))
		}
		if same := reflect.DeepEqual(document, other); same != (form(document, plain) == form(other, plain)) {
			t.Fatalf("%s and %s: equal %v", plain(document), plain(other), same)
		}
	})
}

func jsonValue(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.Map(rapid.IntRange(-3, 3), func(i int) any { return float64(i) }),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) })
	return rapid.OneOf(append(leaves,
		rapid.Map(rapid.SliceOfN(inner, 0, 3), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(rapid.StringN(0, 3, -1), inner, 0, 3), func(v map[string]any) any { return v }),
	)...)
}

// FuzzCanonical holds the form to encoding/json: it exists for the same
// documents (but for depth), and documents written anew from their values, keys
// sorted, have the form of the original.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[true,null,"x\u00e9\ud83d\ude42"]}`, `{"a":{"c":1.5e3,"b":{}}}`, `"\ud800"`, `[[[]]]`, `{"a":1,"a":2}`, `-0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		form, ok := Canonical(nil, data, nil)
		if valid := json.Valid(data) && utf8.Valid(data); ok && !valid {
			t.Fatalf("%q has a form and is not JSON", data)
		} else if !ok {
			if valid && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= maxNesting {
				t.Fatalf("%q has no form", data)
			}
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(`\u`)) || repeats(data) {
			return // encoding/json replaces lone surrogates and keeps one of two equal keys
		}
		if second, ok := Canonical(nil, again, nil); !ok || !bytes.Equal(form, second) {
			t.Fatalf("%q has the form %q, written anew as %q %q", data, form, again, second)
		}
	})
}

// repeats tells whether some object has a key twice.
func repeats(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	_, twice := readValue(d)
	return twice
}

func readValue(d *json.Decoder) (end, twice bool) {
	token, err := d.Token()
	if err != nil {
		return true, false
	}
	switch token {
	case json.Delim('['):
		for {
			end, t := readValue(d)
			twice = twice || t
			if end {
				return false, twice
			}
		}
	case json.Delim('{'):
		keys := map[string]bool{}
		for {
			token, err := d.Token()
			key, isKey := token.(string)
			if err != nil || !isKey {
				return false, twice
			}
			twice = twice || keys[key]
			keys[key] = true
			_, t := readValue(d)
			twice = twice || t
		}
	case json.Delim(']'):
		return true, false
	}
	return false, false
}
