package grammar

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestRegexAndChoice(t *testing.T) {
	regex := func(p string) *Grammar {
		g, err := Regex(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	choice := func(c ...string) *Grammar {
		g, err := Choice(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, c := range []struct {
		name    string
		g       *Grammar
		yes, no []string
	}{
		{"the whole text", regex(`[ab]+\d{2}`), []string{"a12", "bab99"}, []string{"12", "xa12", "a123"}},
		{"anchors change nothing", regex(`^a|b$`), []string{"a", "b"}, []string{"ab", "xb"}},
		{"nothing", regex(``), []string{""}, []string{"a"}},
		{"raw characters", regex("\"\n.\\\\"), []string{"\"\né\\"}, []string{"\"\n\n\\"}},
		{"other scripts", regex(`\p{Greek}+`), []string{"αβγ"}, []string{"abc", ""}},
		{"choices", choice("yes", "yesterday", "no", ""), []string{"yes", "yesterday", "no", ""}, []string{"y", "yester", "nope"}},
		{"bytes that are no characters", choice("\xff\xfe"), []string{"\xff\xfe"}, []string{"\xff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range c.yes {
				if !takes(c.g, s) {
					t.Errorf("%q is refused", s)
				}
			}
			for _, s := range c.no {
				if takes(c.g, s) {
					t.Errorf("%q is taken", s)
				}
			}
		})
	}
	if _, err := Choice(context.Background(), nil); err == nil {
		t.Error("a choice of nothing is taken")
	}
	if _, err := Regex(context.Background(), `(a)\1`); err == nil || !strings.Contains(err.Error(), "parsing pattern") {
		t.Errorf("a reference back: %v", err)
	}
}

// Numbers within bounds are held against arithmetic.
func TestBoundsOfNumbersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string {
			n := rapid.IntRange(-130, 130).Draw(t, name)
			digits := rapid.IntRange(0, 2).Draw(t, name+" digits")
			sign := ""
			if n < 0 {
				sign, n = "-", -n
			}
			s := fmt.Sprintf("%03d", n)
			if digits == 0 {
				return sign + fmt.Sprint(n)
			}
			return sign + s[:3-digits] + "." + s[3-digits:]
		}
		r := numberRule{integer: rapid.Bool().Draw(t, "integer")}
		schema := `{"type":"number"`
		if r.integer {
			schema = `{"type":"integer"`
		}
		clean := func(s string) string { // JSON has no leading zeros
			neg := strings.HasPrefix(s, "-")
			s = strings.TrimLeft(strings.TrimPrefix(s, "-"), "0")
			if s == "" || s[0] == '.' {
				s = "0" + s
			}
			if neg {
				s = "-" + s
			}
			return s
		}
		for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
			if rapid.Bool().Draw(t, keyword) {
				schema += fmt.Sprintf(`,%q:%s`, keyword, clean(draw(keyword+" value")))
			}
		}
		schema += "}"
		g, err := Schema(context.Background(), []byte(schema), Options{})
		free := !strings.Contains(schema, "imum")
		check := validatorFor(t, schema)
		for range 40 {
			s := clean(draw("number"))
			v, _ := new(big.Rat).SetString(s)
			signedZero := v.Sign() == 0 && s[0] == '-' && !free
			pointed := r.integer && strings.Contains(s, ".")
			want := valid(check, s) == nil && !signedZero && !pointed
			if err != nil {
				// Refused schemas have no value; those with one digit after the point are
				// among the candidates often enough to notice.
				if want {
					t.Fatalf("schema %s is refused (%v), but %s is valid", schema, err, s)
				}
				continue
			}
			if takes(g, s) != want {
				t.Fatalf("schema %s: %s is taken: %v, valid: %v", schema, s, !want, want)
			}
		}
	})
}

func TestNestingIsBoundedAndCanStillBeEnded(t *testing.T) {
	v := testVocabulary()
	for name, g := range map[string]*Grammar{
		"arrays":   mustSchema(t, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`, Options{}),
		"anything": mustSchema(t, `true`, Options{}),
		"arrays that need an object within": mustSchema(t, `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/a"},"minItems":1},{"$ref":"#/$defs/o"}]},
			"o":{"type":"object","properties":{"x":{"type":"object","properties":{"y":{"type":"null"}},"required":["y"]}},"required":["x"]}}}`, Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			m := g.Matcher(v)
			depth := 0
			for ; m.Accept('['); depth++ {
				allowed(t, m, v) // near the limit, too, masks are what Allows says
				if depth > 100 {
					t.Fatal("nesting has no bound")
				}
			}
			if depth < 60 {
				t.Errorf("only %d levels", depth)
			}
			for steps := 0; !m.Complete(); steps++ {
				tokens := allowed(t, m, v)
				if len(tokens) == 0 || steps > 500 {
					t.Fatalf("no end is left, %d tokens are", len(tokens))
				}
				token := tokens[0]
				for _, want := range []int32{']', '}', 'u', 'l', 'n', '{', '"', 'x', 'y', ':'} {
					if slices.Contains(tokens, want) {
						token = want
						break
					}
				}
				m.Accept(token)
			}
		})
	}
}

func TestTokensAcrossBordersOfStructure(t *testing.T) {
	v := testVocabulary()
	g := mustSchema(t, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}`, Options{})
	m := g.Matcher(v)
	piece := func(s string) int32 { return firstPiece + int32(slices.Index(pieces, s)) }
	for _, s := range []string{`[{"`, `a":`, `"value"`, `}`, `,`, `{"a`, `":`, ` `, `"`, "\xc3", "\xa9x", `"},{"`, `a":`, `"`, "\xf0\x9f", "\x98\x80\"", `}`, `]`} {
		token := piece(s)
		if len(s) == 1 {
			token = int32(s[0])
		}
		if !slices.Contains(allowed(t, m, v), token) || !m.Accept(token) {
			t.Fatalf("%q is refused", s)
		}
	}
	if !m.Done() {
		t.Error("the document is not done")
	}
}

func TestOnlyEndTokensAfterTheEnd(t *testing.T) {
	v := testVocabulary()
	m := mustSchema(t, `{"const":1}`, Options{}).Matcher(v)
	if m.Done() || m.Complete() || m.Allows(endToken) || m.Accept(endToken) {
		t.Error("an empty text is taken as whole")
	}
	if got := allowed(t, m, v); !slices.Equal(got, []int32{'1'}) {
		t.Errorf("at first %v may come", got)
	}
	m.Accept('1')
	for range 2 { // a sequence that runs on after its end may end again
		if got := allowed(t, m, v); !m.Done() || !slices.Equal(got, []int32{endToken}) {
			t.Errorf("after the end %v may come", got)
		}
		if !m.Accept(endToken) || m.Accept('1') {
			t.Error("after the end something else is accepted than the end")
		}
	}
	m.Rollback(3)
	if m.Len() != 0 || m.Complete() {
		t.Error("the beginning is not back")
	}
	m.Rollback(1)
	if got := allowed(t, m, v); !slices.Equal(got, []int32{'1'}) {
		t.Errorf("back at the beginning %v may come", got)
	}
}

func TestTokensThatAreNoText(t *testing.T) {
	v := testVocabulary()
	m := mustSchema(t, `{"type":"object","properties":{},"additionalProperties":true}`, Options{}).Matcher(v)
	for _, token := range []int32{specialToken, emptyToken, -1, int32(v.Size()), 1 << 30} {
		if m.Allows(token) || m.Accept(token) {
			t.Errorf("token %d is accepted", token)
		}
	}
	long := NewVocabulary(2, func(t int32) []byte { return slices.Repeat([]byte("a"), 5000*int(t)+1) }, func(int32) bool { return false }, nil)
	g, err := Regex(context.Background(), "a*")
	if err != nil {
		t.Fatal(err)
	}
	if got := allowed(t, g.Matcher(long), long); !slices.Equal(got, []int32{0}) {
		t.Errorf("of a token and one of 5,001 bytes, %v may come", got)
	}
}

func TestTokensWithTheSameBytes(t *testing.T) {
	texts := []string{"ab", "a", "ab", "", "ab", "b"}
	v := NewVocabulary(len(texts), func(t int32) []byte { return []byte(texts[t]) }, func(int32) bool { return false }, []int32{3, 3, 99, -1})
	g, err := Choice(context.Background(), []string{"ab"})
	if err != nil {
		t.Fatal(err)
	}
	if got := allowed(t, g.Matcher(v), v); !slices.Equal(got, []int32{0, 1, 2, 4}) {
		t.Errorf("%v may come", got)
	}
}

func TestMatchersOfOneGrammarAtOnce(t *testing.T) {
	g := mustSchema(t, personSchema, Options{})
	tokens := largeVocabulary(3000)
	var wg sync.WaitGroup
	results := make([][][]uint64, 8)
	vocabularies := []*Vocabulary{benchmarkVocabulary(tokens), benchmarkVocabulary(tokens[:1000])}
	for i := range results {
		wg.Go(func() {
			v := vocabularies[i%2]
			m := g.Matcher(v)
			for j := range len(personDocument) {
				bits := make([]uint64, (v.Size()+63)/64)
				m.Mask(bits)
				results[i] = append(results[i], bits)
				if !m.Accept(int32(personDocument[j])) {
					t.Errorf("refused at %d", j)
					return
				}
			}
		})
	}
	wg.Wait()
	for i, r := range results {
		for j := range r {
			if !slices.Equal(r[j], results[i%2][j]) {
				t.Fatalf("masks of matchers %d and %d differ at %d", i, i%2, j)
			}
		}
	}
}

// Many vocabularies, as of servers that load models in turn, keep no more than a few.
func TestAGrammarForgetsVocabularies(t *testing.T) {
	g := mustSchema(t, `{"const":1}`, Options{})
	for range 3 * maxVocabularies {
		g.Matcher(testVocabulary())
	}
	if n := len(g.kept.sets); n != maxVocabularies {
		t.Errorf("%d are kept", n)
	}
}

// An ambiguous grammar must not double its stacks with every level.
func TestAmbiguousAlternativesDoNotMultiply(t *testing.T) {
	g := mustSchema(t, `{"$ref":"#/$defs/v","$defs":{"v":{"anyOf":[
		{"type":"array","title":"a","items":{"$ref":"#/$defs/v"}},{"type":"array","minItems":0,"items":{"$ref":"#/$defs/v"}},{"type":"null"}]}}}`, Options{})
	m := g.Matcher(testVocabulary())
	for range 60 {
		if !m.Accept('[') {
			t.Fatal("refused")
		}
	}
	if n := len(m.now().items); n > 20 {
		t.Errorf("%d ways to read 60 brackets", n)
	}
	for range 60 {
		if !m.Accept(']') {
			t.Fatal("refused")
		}
	}
	if !m.Done() {
		t.Error("not done")
	}
}

// A call may need less depth than what must come after it.
func TestACallIsNotMadeWhenWhatFollowsNestsTooDeep(t *testing.T) {
	c := newCompiler(context.Background(), Options{})
	g, err := c.compile(func(d *draft) {
		pair := func(key, open, closing string, inner func(d *draft, from, to int32)) int32 {
			return c.rule(key, true, func(d *draft) {
				at, end := d.then(first, open), d.state()
				inner(d, at, end)
				d.text(end, last, closing)
			})
		}
		deep := pair("deep", "{", "}", func(d *draft, from, to int32) { d.skip(from, to) })
		deeper := pair("deeper", "<", ">", func(d *draft, from, to int32) { d.call(from, to, deep) })
		leaf := c.rule("leaf", false, func(d *draft) { d.text(first, last, "x") })
		d.call(first, last, pair("nest", "[", "]", func(d *draft, from, to int32) {
			after := d.state()
			d.call(from, to, c.rule("nest", true, nil))
			d.call(from, after, leaf)
			d.call(after, to, deeper)
			d.text(from, to, "y")
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	m := g.Matcher(testVocabulary())
	for m.Accept('[') {
		if !m.Allows('y') {
			t.Fatal("there is no end")
		}
	}
	if m.Allows('x') {
		t.Error("a text that cannot be ended is begun")
	}
	m.Rollback(2)
	if !m.Allows('x') {
		t.Error("a text that can just be ended is refused")
	}
}
