package grammar

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// allowed lists the tokens of a mask, and holds it to what Allows says of each token.
func allowed(t rapid.TB, m *Matcher, v *Vocabulary) []int32 {
	bits := make([]uint64, (v.Size()+63)/64+1)
	bits[len(bits)-1] = ^uint64(0) // must be cleared
	m.Mask(bits)
	var out []int32
	for token := range int32(64 * len(bits)) {
		in := bits[token/64]>>(token%64)&1 == 1
		if in != m.Allows(token) {
			t.Fatalf("token %d: in the mask %v, but Allows says %v", token, in, !in)
		}
		if in {
			out = append(out, token)
		}
	}
	return out
}

// walk takes tokens at random until the text ends. After some time it hurries: it
// closes what can be closed.
func walk(t *rapid.T, g *Grammar, v *Vocabulary, seed uint64) string {
	m := g.Matcher(v)
	var text []byte
	next := func(n int) int { // a generator of its own: a walk is too long for rapid's
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
	for step := range 20000 {
		var tokens []int32
		if step < 60 || step%16 == 0 {
			tokens = allowed(t, m, v)
		} else {
			for token := range int32(v.Size()) {
				if m.Allows(token) {
					tokens = append(tokens, token)
				}
			}
		}
		if len(tokens) == 0 {
			t.Fatalf("after %q nothing may come", text)
		}
		if m.Complete() != slices.Contains(tokens, endToken) {
			t.Fatalf("after %q: complete %v, but the end token says otherwise", text, m.Complete())
		}
		token := tokens[next(len(tokens))]
		if step > 60 && next(4) > 0 {
			for _, want := range []int32{endToken, '}', ']', '"', 'n', '0'} {
				if slices.Contains(tokens, want) {
					token = want
					break
				}
			}
		}
		if token == endToken {
			return string(text)
		}
		if !m.Accept(token) {
			t.Fatalf("after %q token %d is in the mask and not accepted", text, token)
		}
		text = append(text, testBytes(token)...)
	}
	t.Fatalf("no end after %d bytes", len(text))
	return ""
}

func TestRandomWalksEndInValidDocuments(t *testing.T) {
	v := testVocabulary()
	rapid.Check(t, func(t *rapid.T) {
		schema := withDefinitions(drawSchema(t, 3).schema)
		o := Options{Compact: rapid.Bool().Draw(t, "compact"), Open: rapid.Bool().Draw(t, "open")}
		g, err := Schema(context.Background(), []byte(schema), o)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		text := walk(t, g, v, rapid.Uint64().Draw(t, "seed"))
		if err := valid(validatorFor(t, schema), text); err != nil {
			t.Fatalf("schema %s\ndocument %s\n%v", schema, text, err)
		}
	})
}

func TestDocumentsAreAcceptedHoweverTheyAreCut(t *testing.T) {
	v := testVocabulary()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t, 3)
		schema := withDefinitions(s.schema)
		g, err := Schema(context.Background(), []byte(schema), Options{Compact: rapid.Bool().Draw(t, "compact"), Open: rapid.Bool().Draw(t, "open")})
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		doc := s.draw(t)
		if err := valid(validatorFor(t, schema), doc); err != nil {
			t.Fatalf("the test's own document %s of %s: %v", doc, schema, err)
		}
		m := g.Matcher(v)
		for rest := doc; rest != ""; {
			token := drawToken(t, rest)
			if !m.Accept(token) {
				t.Fatalf("schema %s\ndocument %s\nrest %s\ntoken %q is refused", schema, doc, rest, testBytes(token))
			}
			rest = rest[len(testBytes(token)):]
		}
		if !m.Complete() || !m.Accept(endToken) || !m.Done() {
			t.Fatalf("schema %s: the document %s is not taken as whole", schema, doc)
		}
	})
}

// drawToken is one of those that a text begins with.
func drawToken(t *rapid.T, text string) int32 {
	tokens := []int32{int32(text[0])}
	for i, p := range pieces {
		if len(p) <= len(text) && text[:len(p)] == p {
			tokens = append(tokens, firstPiece+int32(i))
		}
	}
	return rapid.SampledFrom(tokens).Draw(t, "token")
}

func TestRollbackAndCloneAreExact(t *testing.T) {
	v := testVocabulary()
	rapid.Check(t, func(t *rapid.T) {
		schema := withDefinitions(drawSchema(t, 2).schema)
		g, err := Schema(context.Background(), []byte(schema), Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := g.Matcher(v)
		var taken []int32
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			tokens := allowed(t, m, v)
			token := rapid.SampledFrom(tokens).Draw(t, "token")
			if rapid.IntRange(0, 3).Draw(t, "back") == 0 {
				n := rapid.IntRange(0, len(taken)).Draw(t, "n")
				c := m.Clone()
				m.Rollback(n)
				for _, token := range taken[len(taken)-n:] {
					if !m.Accept(token) {
						t.Fatalf("token %d is refused after a rollback", token)
					}
				}
				if !slices.Equal(allowed(t, m, v), allowed(t, c, v)) || m.Len() != c.Len() || m.Complete() != c.Complete() || m.Done() != c.Done() {
					t.Fatal("a clone and a matcher that was rolled back and forth differ")
				}
				m = c
				continue
			}
			m.Accept(token)
			taken = append(taken, token)
		}
		fresh := g.Matcher(v)
		for _, token := range taken {
			fresh.Accept(token)
		}
		if !slices.Equal(allowed(t, m, v), allowed(t, fresh, v)) {
			t.Fatal("a matcher that went back and forth differs from a fresh one")
		}
	})
}
