package grammar

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestSchemas(t *testing.T) {
	cases := []struct {
		name, schema string
		yes, no      []string
		options      Options
	}{
		{name: "order is as written", schema: `{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"null"}},"required":["a","b"]}`,
			yes: []string{`{"b":null,"a":null}`, "{\n  \"b\": null,\n  \"a\": null\n}"}, no: []string{`{"a":null,"b":null}`, `{"b":null}`, `{}`}},
		{name: "optional properties may be left out", schema: `{"properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}},"required":["b"]}`,
			yes: []string{`{"b":2}`, `{"a":1,"b":2}`, `{"b":2,"c":3}`, `{"a":1,"b":2,"c":3}`}, no: []string{`{"a":1}`, `{"a":1,"c":3}`, `{,"b":2}`, `{"b":2,}`}},
		{name: "no other properties unless the schema or the caller says so", schema: `{"type":"object","properties":{"a":{}}}`,
			yes: []string{`{}`, `{"a":1}`}, no: []string{`{"b":1}`}},
		{name: "open", schema: `{"type":"object","properties":{"a":{"type":"null"}}}`, options: Options{Open: true},
			yes: []string{`{"b":1,"c":[]}`, `{"a":null,"b":1}`}, no: []string{`{"a":1}`, `{"b":1,"a":2}`, `{"b":1,"\u0061":2}`}},
		{name: "additional properties have a schema and other names", schema: `{"type":"object","properties":{"ab":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
			yes: []string{`{"ab":"x","a":1,"abc":2,"":3}`, `{"é":1}`}, no: []string{`{"ab":1}`, `{"a":1,"ab":1}`, `{"a":"x"}`, `{"\u0061b":1}`}},
		{name: "required without a declaration", schema: `{"type":"object","properties":{"a":{"const":1}},"required":["a","z"]}`,
			yes: []string{`{"a":1,"z":[]}`}, no: []string{`{"a":1}`}},
		{name: "an object of which nothing is said", schema: `{"type":"object"}`, yes: []string{`{}`, `{"a":{"b":[1]}}`}, no: []string{`[]`}},
		{name: "minProperties 1", schema: `{"type":"object","properties":{"a":{"const":1},"b":{"const":2}},"minProperties":1}`,
			yes: []string{`{"a":1}`, `{"b":2}`}, no: []string{`{}`}},
		{name: "types", schema: `{"type":["integer","null","boolean"]}`, yes: []string{"0", "-0", "12", "null", "true"}, no: []string{"1.0", `"a"`, "01", "1e3", "+1", "nul"}},
		{name: "nullable", schema: `{"type":"object","properties":{"a":{"$ref":"#/$defs/n","nullable":true}},"required":["a"],"$defs":{"n":{"type":"integer"}}}`,
			yes: []string{`{"a":1}`, `{"a":null}`}, no: []string{`{"a":""}`}},
		{name: "listed values are held to what else is said", schema: `{"enum":["a","bcd",1,null,[1]],"type":["string","integer"],"maxLength":2}`,
			yes: []string{`"a"`, "1"}, no: []string{`"bcd"`, "null", "[1]"}},
		{name: "a list and a constant", schema: `{"enum":[1,2],"const":2}`, yes: []string{"2"}, no: []string{"1"}},
		{name: "listed values with spaces", schema: `{"const":{"a":[1,{"b":"c"}],"d":{}}}`,
			yes: []string{`{"a":[1,{"b":"c"}],"d":{}}`, `{ "a": [ 1, { "b": "c" } ], "d": {} }`}, no: []string{`{"a":[1,{"b":"c"}]}`, `{"d":{},"a":[1,{"b":"c"}]}`}},
		{name: "allOf merges objects", schema: `{"allOf":[{"$ref":"#/definitions/a"},{"properties":{"y":{"type":"integer"}},"required":["y"]}],"definitions":{"a":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}}`,
			yes: []string{`{"y":1,"x":2}`}, no: []string{`{"x":2}`, `{"y":1}`}},
		{name: "allOf merges one property's schemas", schema: `{"allOf":[{"properties":{"x":{"minimum":3}}},{"properties":{"x":{"maximum":5,"type":"integer"}},"required":["x"]}]}`,
			yes: []string{`{"x":3}`, `{"x":5}`}, no: []string{`{"x":2}`, `{"x":6}`, `{"x":3.5}`}},
		{name: "anyOf beside other keywords", schema: `{"type":"object","properties":{"k":{"enum":["a","b"]},"v":{}},"required":["k","v"],"anyOf":[{"properties":{"k":{"const":"a"},"v":{"type":"integer"}}},{"properties":{"k":{"const":"b"},"v":{"type":"string"}}}]}`,
			yes: []string{`{"k":"a","v":1}`, `{"k":"b","v":"x"}`}, no: []string{`{"k":"a","v":"x"}`, `{"k":"b","v":1}`}},
		{name: "oneOf", schema: `{"oneOf":[{"type":"integer"},{"type":"null"}]}`, yes: []string{"1", "null"}, no: []string{"true"}},
		{name: "recursion through a reference to the root", schema: `{"type":"object","properties":{"n":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["n"]}`,
			yes: []string{`{"n":1}`, `{"n":1,"children":[{"n":2,"children":[]},{"n":3}]}`}, no: []string{`{"n":1,"children":[{}]}`}},
		{name: "references with escapes", schema: `{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"const":1}}}`, yes: []string{"1"}, no: []string{"2"}},
		{name: "tuples", schema: `{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"},"minItems":1,"maxItems":3}`,
			yes: []string{`[1]`, `[1,"a"]`, `[1, "a",null]`}, no: []string{`[]`, `[1,null]`, `[1,"a",null,null]`, `["a"]`, `[1,]`}},
		{name: "tuples end where nothing else is said", schema: `{"type":"array","prefixItems":[{"type":"integer"}]}`, yes: []string{`[]`, `[1]`}, no: []string{`[1,1]`}},
		{name: "tuples as in older drafts", schema: `{"type":"array","items":[{"const":1},{"const":2}],"additionalItems":{"const":3}}`, yes: []string{`[1,2,3,3]`, `[1]`}, no: []string{`[1,3]`}},
		{name: "items and counts", schema: `{"type":"array","items":{"type":"boolean"},"minItems":2}`, yes: []string{`[true,false]`, `[true,true,true,true]`}, no: []string{`[]`, `[true]`}},
		{name: "no items at all", schema: `{"type":"array","maxItems":0}`, yes: []string{`[]`}, no: []string{`[1]`}},
		{name: "lengths count characters", schema: `{"type":"string","minLength":2,"maxLength":3}`,
			yes: []string{`"ab"`, `"😀é"`, `"\n\u00e9\""`, `"\ud83d\ude00a"`}, no: []string{`"a"`, `"abcd"`, `"😀"`, `"\ud83d\ude00"`}},
		{name: "a pattern is searched for", schema: `{"type":"string","pattern":"b+"}`, yes: []string{`"b"`, `"abc"`, `"\n b"`}, no: []string{`"ac"`, `""`}},
		{name: "a pattern with anchors", schema: `{"type":"string","pattern":"^(a|bc)$"}`, yes: []string{`"a"`, `"bc"`}, no: []string{`"ab"`, `"abc"`}},
		{name: "anchors in branches", schema: `{"type":"string","pattern":"^a|b$"}`, yes: []string{`"ax"`, `"xb"`}, no: []string{`"xa"`, `"bx"`}},
		{name: "anchors in a group", schema: `{"type":"string","pattern":"(?:^a)(b$)"}`, yes: []string{`"ab"`}, no: []string{`"xab"`, `"abx"`}},
		{name: "a pattern's characters are escaped where they must be", schema: `{"type":"string","pattern":"^[\"\\\\\\n]$"}`,
			yes: []string{`"\""`, `"\\"`, `"\n"`}, no: []string{"\"\n\"", `"""`, `"\u000a"`}},
		{name: "a pattern with a length", schema: `{"type":"string","pattern":"^a*$","minLength":2,"maxLength":3}`, yes: []string{`"aa"`, `"aaa"`}, no: []string{`"a"`, `"aaaa"`}},
		{name: "cases folded", schema: `{"type":"string","pattern":"^(?i)ok$"}`, yes: []string{`"OK"`, `"oK"`, `"o\u212a"`[:2] + `K"`}, no: []string{`"o"`}},
		{name: "dates", schema: `{"type":"string","format":"date"}`, yes: []string{`"2024-02-29"`, `"2000-02-29"`, `"2023-04-30"`}, no: []string{`"2023-02-29"`, `"1900-02-29"`, `"2023-04-31"`, `"2023-13-01"`}},
		{name: "formats that are not known are annotations", schema: `{"type":"string","format":"color"}`, yes: []string{`"x"`}, no: []string{`1`}},
		{name: "annotations say nothing", schema: `{"type":"null","title":"t","description":"d","default":1,"examples":[2],"deprecated":true,"x-y":3,"$comment":"c"}`, yes: []string{"null"}, no: []string{"1", "2"}},
		{name: "a schema without a type is for what it speaks of", schema: `{"minLength":1}`, yes: []string{`"a"`}, no: []string{`""`, "1"}},
		{name: "true", schema: `true`, yes: []string{`1`, `{"a":[]}`}, no: []string{`{`}},
		{name: "a property that cannot be", schema: `{"type":"object","properties":{"a":false,"b":{"const":1}}}`, yes: []string{`{}`, `{"b":1}`}, no: []string{`{"a":1}`}},
		{name: "compact", schema: `{"type":"array","items":{"const":1}}`, options: Options{Compact: true}, yes: []string{`[1,1]`, `[ 1, 1 ]`}, no: []string{"[\n1]", `[1,  1]`}},
		{name: "white space is bounded", schema: `{"type":"array","items":{"const":1}}`,
			yes: []string{"[\n" + strings.Repeat(" ", 20) + "1 ]"}, no: []string{"[\n" + strings.Repeat(" ", 21) + "1]", "[  1]", "[\n\n1]", "[\t1]", " [1]", "[1] "}},
		{name: "numbers have at most 18 digits", schema: `{"type":"number"}`,
			yes: []string{strings.Repeat("9", 18) + "." + strings.Repeat("1", 18) + "e-99"}, no: []string{strings.Repeat("9", 19), "0." + strings.Repeat("1", 19), "1e100"}},
		{name: "bounded numbers have at most 18 digits", schema: `{"type":"number","minimum":-5}`,
			yes: []string{strings.Repeat("9", 18) + "." + strings.Repeat("1", 18), "-4.99", "-5.0"}, no: []string{strings.Repeat("9", 19), "0." + strings.Repeat("1", 19), "-5.01", "1e1", "-0"}},
		{name: "code points as ECMA-262 writes them", schema: `{"type":"string","pattern":"^[\\u00e0-\\u00ff]\\\\\\u{1F600}\\/$"}`, yes: []string{`"é\\😀/"`}, no: []string{`"e\\😀/"`, `"é😀/"`}},
		{name: "escapes", schema: `{"type":"string"}`, yes: []string{`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, "\"\x7f\u2028\""},
			no: []string{`"\x"`, `"\ud83d"`, `"\ud83da"`, `"\ude00"`, "\"\n\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := mustSchema(t, c.schema, c.options)
			for _, doc := range c.yes {
				if !takes(g, doc) {
					t.Errorf("%s is refused", doc)
				}
			}
			for _, doc := range c.no {
				if takes(g, doc) {
					t.Errorf("%s is taken", doc)
				}
			}
		})
	}
}

func TestJSONTakesObjectsOnly(t *testing.T) {
	for doc, want := range map[string]bool{
		`{}`: true, `{"a":[1,-2.5e+3,true,false,null,"x",{"b":{}}]}`: true, "{\n  \"a\": 1\n}": true,
		`[]`: false, `1`: false, `{"a"}`: false, `{"a":1,}`: false, `{'a':1}`: false, `{"a":01}`: false, `{"a":.5}`: false, `{"a":NaN}`: false,
	} {
		if takes(JSON(), doc) != want {
			t.Errorf("%s: taken is %v", doc, !want)
		}
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	deep := strings.Repeat(`{"anyOf":[{"type":"null"},`, 90) + `{"type":"null"}` + strings.Repeat(`]}`, 90)
	exponential := `{"allOf":[` + many(12, `{"anyOf":[{"type":"object","title":"a","minProperties":0},{"type":"object","maxLength":1},{"type":"object","maxItems":2}]}`) + `]}`
	var words strings.Builder
	for i := range 200000 {
		words.WriteString(`"`)
		for range 4 {
			words.WriteByte(byte('a' + i%26))
			i = i*7 + 3
		}
		words.WriteString(`",`)
	}
	cases := []struct{ name, schema, want string }{
		{"no JSON", `{"type":`, "parsing schema: "},
		{"two values", `{} {}`, "parsing schema: more than one JSON value"},
		{"no schema", `3`, "schema at #: expected an object or a boolean"},
		{"a key twice", `{"type":"null","type":"null"}`, `schema at # has the key "type" twice`},
		{"an unknown type", `{"properties":{"a":{"type":"int"}}}`, `schema at #/properties/a/type: expected null, boolean, integer, number, string, array or object, got "int"`},
		{"a keyword that would change the meaning", `{"properties":{"a/b":{"not":{}}}}`, `schema at #/properties/a~1b: keyword "not" is not supported`},
		{"uniqueItems", `{"type":"array","uniqueItems":true}`, `schema at #: keyword "uniqueItems" is not supported`},
		{"multipleOf", `{"type":"integer","multipleOf":3}`, `schema at #: keyword "multipleOf" is not supported`},
		{"patternProperties", `{"patternProperties":{"a":{}}}`, `schema at #: keyword "patternProperties" is not supported`},
		{"maxProperties that do not follow", `{"type":"object","maxProperties":3}`, `keyword "maxProperties" is supported where`},
		{"a reference to elsewhere", `{"$ref":"https://example.com/s"}`, `schema at #: $ref "https://example.com/s" leads nowhere within the schema`},
		{"a reference to nothing", `{"$ref":"#/$defs/a"}`, `schema at #: $ref "#/$defs/a" leads nowhere`},
		{"a reference in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}}}`, `schema at #/$defs/a refers to itself with nothing in between`},
		{"nothing is allowed", `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, "schema allows no value at all"},
		{"contradictions", `{"type":"string","minLength":3,"maxLength":2}`, "schema allows no value at all"},
		{"an empty list", `{"enum":[]}`, "schema allows no value at all"},
		{"a pattern that is none", `{"type":"string","pattern":"("}`, `schema at #/pattern: parsing pattern "("`},
		{"a pattern that looks around", `{"type":"string","pattern":"(?=a)"}`, `schema at #/pattern: parsing pattern`},
		{"an anchor in the middle", `{"type":"string","pattern":"a$b"}`, `schema at #/pattern: pattern "a$b": (?-m:$) is not supported where it stands`},
		{"a count that is none", `{"type":"array","minItems":-1}`, "schema at #/minItems: expected a count, got -1"},
		{"a bound that is no number", `{"type":"integer","exclusiveMinimum":true}`, "schema at #/exclusiveMinimum: expected a number"},
		{"a listed value of a wrong shape", `{"enum":3}`, "schema at #/enum: expected an array"},

		{"a billion items", `{"type":"array","minItems":1000000000}`, "schema is too large: minItems 1000000000 at #"},
		{"a long string", `{"type":"string","maxLength":9999999999}`, "schema is too large: maxLength"},
		{"many items of much", `{"type":"array","minItems":130000,"items":{"enum":[` + many(50, `"abcdefgh"`) + `]}}`, "schema is too large: "},
		{"nested counts", `{"type":"array","maxItems":100000,"items":{"type":"array","maxItems":100000,"items":{"type":"array","maxItems":100000}}}`, "schema is too large: "},
		{"alternatives that multiply", exponential, "schema is too large: "},
		{"a pattern that explodes", `{"type":"string","pattern":"a.{900}$"}`, "schema is too large: "},
		{"repetitions of repetitions", `{"type":"string","pattern":"((a{0,99}){0,99}){0,99}"}`, "schema"},
		{"patterns that multiply", `{"allOf":[{"pattern":"a.{60}b"},{"pattern":"c.{70}d"},{"pattern":"e.{80}f"},{"pattern":"g.{90}h"}]}`, "schema is too large: "},
		{"a huge exponent", `{"type":"number","minimum":1e999999999}`, "schema is too large: number 1e999999999 at #/minimum"},
		{"deep nesting", strings.Repeat(`{"items":`, 250) + `true` + strings.Repeat(`}`, 250), "schema is too large: its JSON is nested"},
		{"deep nesting of alternatives", deep, ""},
		{"more than a megabyte", `{"enum":[` + words.String() + `1]}`, "schema is too large: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			_, err := Schema(context.Background(), json.RawMessage(c.schema), Options{})
			t.Logf("%v after %v", err, time.Since(begin))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestLargeSchemasThatAreTaken(t *testing.T) {
	var enum, properties []string
	for i := range 5000 {
		s, _ := json.Marshal(strings.Repeat("v", i%7) + time.Duration(i).String())
		enum = append(enum, string(s))
		if i < 400 {
			properties = append(properties, string(s[:len(s)-1])+`p":{"type":"string"}`)
		}
	}
	for name, schema := range map[string]string{
		"a list of 5,000":         `{"enum":[` + strings.Join(enum, ",") + `]}`,
		"400 optional properties": `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`,
		"a string of 2,000":       `{"type":"string","maxLength":2000}`,
		"a string of 100,000":     `{"type":"string","minLength":10,"maxLength":100000}`,
		"an array of 10,000":      `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}},"minItems":10000}`,
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			g := mustSchema(t, schema, Options{})
			t.Logf("%d states, %d cells, %v", len(g.states), len(g.cells), time.Since(begin))
		})
	}
}
