package grammar

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// Tokens that cross the borders of a document's parts and of characters, beside all
// single bytes.
var pieces = []string{
	`{"`, `":`, `": `, `",`, `", "`, `","`, `"}`, `"},`, `"},{"`, `"]}`, `}}`, `]]`, `[[`, `[{"`, `{"a`, `a":`, `null`, `nul`, `true`, `false,`, `,"`,
	` `, "  ", "\n", "\n  ", `{}`, `[]`, `""`, `\"`, `\\`, `\n`, `\u00`, `\ud83d\ude00`, `d\u`, `e9`, `"value"`, `"next":{"`, `name`, `ab`, `abc`,
	`10`, `00`, `0.`, `.5`, `-1`, `1,`, `2]`, `1e`, `E+`, "é", "\xc3", "\xa9x", "日本", "\xe6\x97", "😀", "\xf0\x9f", "\x98\x80\"", "\xff", "\xed\xa0\x80",
	`2024-`, `-01-`, `T00:`, `name`, `http://`, `.0.0.`, `id":"`,
}

const (
	endToken     = int32(256)
	specialToken = int32(257)
	emptyToken   = int32(258)
	firstPiece   = int32(259)
)

func testBytes(t int32) []byte {
	switch {
	case t < 256:
		return []byte{byte(t)}
	case t == endToken:
		return []byte("</s>")
	case t == specialToken:
		return []byte(`{`)
	case t == emptyToken:
		return nil
	}
	return []byte(pieces[t-firstPiece])
}

func testVocabulary() *Vocabulary {
	return NewVocabulary(int(firstPiece)+len(pieces), testBytes, func(t int32) bool { return t == specialToken }, []int32{endToken})
}

func mustSchema(t testing.TB, schema string, o Options) *Grammar {
	t.Helper()
	g, err := Schema(context.Background(), json.RawMessage(schema), o)
	if err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	return g
}

// takes says whether a grammar takes a text, byte by byte.
func takes(g *Grammar, text string) bool {
	m := g.Matcher(testVocabulary())
	for i := range len(text) {
		if !m.Accept(int32(text[i])) {
			return false
		}
	}
	return m.Complete()
}

func validatorFor(t rapid.TB, schema string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatalf("%v", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema:///test", doc); err != nil {
		t.Fatalf("%v", err)
	}
	s, err := c.Compile("schema:///test")
	if err != nil {
		t.Fatalf("compiling %s: %v", schema, err)
	}
	return s
}

func valid(s *jsonschema.Schema, text string) error {
	if !json.Valid([]byte(text)) {
		return fmt.Errorf("no JSON")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// A made schema can make documents of its own: compact, with properties in order.
type made struct {
	schema string
	draw   func(t *rapid.T) string
}

func fixedDoc(schema string, docs ...string) made {
	return made{schema, func(t *rapid.T) string { return rapid.SampledFrom(docs).Draw(t, "doc") }}
}

func drawString(t *rapid.T, least, most int) string {
	runes := rapid.SliceOfN(rapid.OneOf(rapid.RuneFrom([]rune(`ab"\/ é日😀`+"\n\x00\x7f")), rapid.Rune()), least, most).Draw(t, "runes")
	return quoted(strings.ToValidUTF8(string(runes), "x"))
}

var scalars = []func(t *rapid.T) made{
	func(*rapid.T) made {
		return made{`{"type":"string"}`, func(t *rapid.T) string { return drawString(t, 0, 5) }}
	},
	func(t *rapid.T) made {
		least := rapid.IntRange(0, 3).Draw(t, "least")
		most := least + rapid.IntRange(0, 4).Draw(t, "more")
		return made{fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":%d}`, least, most), func(t *rapid.T) string { return drawString(t, least, most) }}
	},
	func(t *rapid.T) made {
		p := rapid.SampledFrom([]string{`^[a-c]{2,4}$`, `^a+(b|é)?$`, `^x[^y]z$`, `^(ab|abc)*$`, `^\d{3}-\w$`, `^"\\{1,2}$`}).Draw(t, "pattern")
		return made{`{"type":"string","pattern":` + quoted(p) + `}`, func(t *rapid.T) string {
			return quoted(rapid.StringMatching(p).Filter(func(s string) bool { return !strings.ContainsAny(s, "\n\r") }).Draw(t, "match"))
		}}
	},
	func(t *rapid.T) made {
		return fixedDoc(`{"type":"string","pattern":"b.*d","minLength":3,"maxLength":8}`, `"abcd"`, `"bxd"`, `"b   d"`)
	},
	func(*rapid.T) made {
		return made{`{"type":"integer"}`, func(t *rapid.T) string {
			return fmt.Sprint(rapid.Int64Range(-999999999999999999, 999999999999999999).Draw(t, "n"))
		}}
	},
	func(t *rapid.T) made {
		lo := rapid.Int64Range(-2000, 2000).Draw(t, "lo")
		hi := lo + rapid.Int64Range(0, 3000).Draw(t, "span")
		return made{fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, lo, hi), func(t *rapid.T) string {
			return fmt.Sprint(rapid.Int64Range(lo, hi).Draw(t, "n"))
		}}
	},
	func(t *rapid.T) made {
		lo := rapid.IntRange(-300, 300).Draw(t, "lo")
		hi := lo + rapid.IntRange(2, 500).Draw(t, "span")
		return made{fmt.Sprintf(`{"type":"number","exclusiveMinimum":%s,"exclusiveMaximum":%s}`, hundredths(lo), hundredths(hi)), func(t *rapid.T) string {
			return hundredths(hi - 1)
		}}
	},
	func(t *rapid.T) made {
		return fixedDoc(`{"type":"number"}`, "0", "-0", "1.5", "-12.25e-3", "1E+10", "123456789012345678")
	},
	func(t *rapid.T) made { return fixedDoc(`{"type":["boolean","null"]}`, "true", "false", "null") },
	func(t *rapid.T) made {
		return fixedDoc(`{"enum":["a","ab",1,null,{"x":[1,"é"]},"q\"\n"]}`, `"a"`, `"ab"`, "1", "null", `{"x":[1,"é"]}`, `"q\"\n"`)
	},
	func(t *rapid.T) made {
		return fixedDoc(`{"enum":["a","abc",7],"type":"string","minLength":2}`, `"abc"`)
	},
	func(t *rapid.T) made { return fixedDoc(`{"const":[1,{"a":"b"}]}`, `[1,{"a":"b"}]`) },
	func(t *rapid.T) made {
		return fixedDoc(`{"type":"string","format":"date"}`, `"2024-02-29"`, `"1999-12-31"`)
	},
	func(t *rapid.T) made {
		return fixedDoc(`{"type":"string","format":"date-time"}`, `"2024-02-29T23:59:59Z"`)
	},
	func(t *rapid.T) made {
		return fixedDoc(`{"type":"string","format":"uuid"}`, `"123e4567-e89b-12d3-a456-426614174000"`)
	},
	func(t *rapid.T) made { return fixedDoc(`{"type":"string","format":"ipv4"}`, `"10.0.0.255"`) },
	func(t *rapid.T) made { return fixedDoc(`{"type":"string","format":"ipv6"}`, `"::1"`) },
	func(t *rapid.T) made { return fixedDoc(`{"type":"string","format":"email"}`, `"a.b@c.de"`) },
	func(t *rapid.T) made { return fixedDoc(`{"type":"string","format":"hostname"}`, `"a.b-c.de"`) },
	func(t *rapid.T) made { return fixedDoc(`{"type":"string","format":"duration"}`, `"P3D"`, `"PT5M1S"`) },
	func(t *rapid.T) made { return fixedDoc(`{"type":"string","format":"time"}`, `"12:00:00.5+01:00"`) },
	func(t *rapid.T) made { return fixedDoc(`{"type":"string","format":"uri"}`, `"https://a.b/c?d#e"`) },
	func(t *rapid.T) made {
		return fixedDoc(`{"$ref":"#/$defs/list"}`, `{"value":1,"next":null}`, `{"value":1,"next":{"value":2,"next":null}}`)
	},
	func(t *rapid.T) made { return fixedDoc(`{"$ref":"#/$defs/tree"}`, `[]`, `[[],[[]]]`) },
	func(t *rapid.T) made { return fixedDoc(`{}`, "1", `{"x":[true]}`, `""`) },
	func(t *rapid.T) made { return fixedDoc(`{"type":"object"}`, `{}`, `{"x":{"y":[]},"x":1}`) },
}

const definitions = `"$defs":{"list":{"type":"object","properties":{"value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/list"},{"type":"null"}]}},
"required":["value","next"],"additionalProperties":false},"tree":{"type":"array","items":{"$ref":"#/$defs/tree"}}}`

func hundredths(n int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	if n%100 == 0 {
		return fmt.Sprintf("%s%d", sign, n/100)
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

// drawSchema makes a schema without the definitions that it refers to.
func drawSchema(t *rapid.T, depth int) made {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 || kind > 3 {
		return rapid.SampledFrom(scalars).Draw(t, "scalar")(t)
	}
	switch kind {
	case 0:
		return drawArray(t, depth)
	case 1:
		a, b := drawSchema(t, depth-1), drawSchema(t, depth-1)
		return made{`{"anyOf":[` + a.schema + `,` + b.schema + `]}`, func(t *rapid.T) string {
			if rapid.Bool().Draw(t, "first") {
				return a.draw(t)
			}
			return b.draw(t)
		}}
	}
	return drawObject(t, depth)
}

func drawArray(t *rapid.T, depth int) made {
	item := drawSchema(t, depth-1)
	least := rapid.IntRange(0, 2).Draw(t, "least")
	most := least + rapid.IntRange(0, 3).Draw(t, "more")
	schema := fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"maxItems":%d}`, item.schema, least, most)
	if rapid.Bool().Draw(t, "unbounded") {
		schema = fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d}`, item.schema, least)
	}
	var head []made
	if rapid.Bool().Draw(t, "prefix") {
		head = append(head, drawSchema(t, depth-1))
		schema = fmt.Sprintf(`{"type":"array","prefixItems":[%s],"items":%s,"minItems":%d,"maxItems":%d}`, head[0].schema, item.schema, least, most)
	}
	return made{schema, func(t *rapid.T) string {
		var parts []string
		for i := range rapid.IntRange(least, most).Draw(t, "items") {
			if i < len(head) {
				parts = append(parts, head[i].draw(t))
			} else {
				parts = append(parts, item.draw(t))
			}
		}
		return "[" + strings.Join(parts, ",") + "]"
	}}
}

func drawObject(t *rapid.T, depth int) made {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "ab", "abc", "name", "é", `q"`, "x y", "id"}), 0, 4, rapid.ID).Draw(t, "names")
	var properties, required []string
	var values []made
	must := make([]bool, len(names))
	for i, n := range names {
		values = append(values, drawSchema(t, depth-1))
		properties = append(properties, quoted(n)+":"+values[i].schema)
		if must[i] = rapid.Bool().Draw(t, "required"); must[i] {
			required = append(required, quoted(n))
		}
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]`
	var other *made
	switch rapid.IntRange(0, 2).Draw(t, "additional") {
	case 0:
		schema += `,"additionalProperties":false`
	case 1:
		o := drawSchema(t, depth-1)
		other = &o
		schema += `,"additionalProperties":` + o.schema
	}
	return made{schema + "}", func(t *rapid.T) string {
		var parts []string
		for i, n := range names {
			if must[i] || rapid.Bool().Draw(t, "there") {
				parts = append(parts, quoted(n)+":"+values[i].draw(t))
			}
		}
		if other != nil {
			for range rapid.IntRange(0, 2).Draw(t, "others") {
				key := rapid.SampledFrom([]string{"zzz", "abcd", "b", "", "na", "日"}).Draw(t, "key")
				parts = append(parts, quoted(key)+":"+other.draw(t))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}}
}

// withDefinitions makes a whole schema.
func withDefinitions(schema string) string {
	if schema == "{}" {
		return "{" + definitions + "}"
	}
	return "{" + definitions + "," + schema[1:]
}
