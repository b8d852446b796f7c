package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// largeVocabulary is like those of today's models: all bytes, words with and without a
// space, pieces of words, digits, punctuation that crosses JSON's borders, blanks, and
// characters of several scripts, whole and in parts.
func largeVocabulary(size int) (tokens [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
	}
	seen := map[string]bool{}
	word := func() string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteByte("bcdfghklmnprst"[r.IntN(14)])
			b.WriteString([]string{"a", "e", "i", "o", "u", "ea", "ing", "er", "y"}[r.IntN(9)])
		}
		return b.String()
	}
	marks := []string{`"`, `":`, `",`, `"}`, `"]`, `{`, `}`, `[`, `]`, `,`, `:`, ` "`, `_`, `.`, `\n`, `\`, `(`, `;`, "\n", " "}
	for len(tokens) < size {
		var s string
		switch k := r.IntN(20); {
		case k < 7:
			s = " " + word()
		case k < 12:
			s = word()
		case k < 13:
			s = strings.ToUpper(word())
		case k < 14:
			s = fmt.Sprint(r.IntN(1000))
		case k < 16:
			for range 1 + r.IntN(4) {
				s += marks[r.IntN(len(marks))]
			}
		case k < 17:
			s = marks[r.IntN(len(marks))] + word() + marks[r.IntN(len(marks))]
		case k < 18:
			s = strings.Repeat(" ", r.IntN(60))
		default:
			for range 1 + r.IntN(3) {
				s += string(rune(0x400 + r.IntN(0x9000)))
			}
			s = s[:len(s)-r.IntN(2)]
		}
		if s != "" && (!seen[s] || r.IntN(50) == 0) {
			seen[s] = true
			tokens = append(tokens, []byte(s))
		}
	}
	return tokens
}

func benchmarkVocabulary(tokens [][]byte) *Vocabulary {
	return NewVocabulary(len(tokens)+1, func(t int32) []byte {
		if int(t) == len(tokens) {
			return nil
		}
		return tokens[t]
	}, func(int32) bool { return false }, []int32{int32(len(tokens))})
}

func BenchmarkVocabulary(b *testing.B) {
	tokens := largeVocabulary(152000)
	for b.Loop() {
		benchmarkVocabulary(tokens)
	}
}

const personSchema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},
"email":{"type":"string","format":"email"},"tags":{"type":"array","items":{"type":"string","maxLength":40}},
"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"enum":["Paris","Berlin","London"]},"zip":{"type":"string","pattern":"^[0-9]{5}$"}},
"required":["street","city","zip"],"additionalProperties":false}},"required":["name","age","email","tags","address"],"additionalProperties":false}`

const personDocument = `{"name": "Ada Lovelace", "age": 36, "email": "ada@example.com", "tags": ["math", "engines"], "address": {"street": "12 St James's Square", "city": "London", "zip": "12345"}}`

func BenchmarkSchema(b *testing.B) {
	for b.Loop() {
		mustSchema(b, personSchema, Options{})
	}
}

// BenchmarkMask is one mask at places of a document: the first time a grammar sees the
// state, later when its state is kept, and again at the same position.
func BenchmarkMask(b *testing.B) {
	v := benchmarkVocabulary(largeVocabulary(152000))
	bits := make([]uint64, (v.Size()+63)/64)
	for _, place := range []struct{ name, before string }{
		{"start", ``}, {"key", `{"na`}, {"string", `{"name": "Ada`}, {"integer", `{"name": "Ada", "age": 3`},
		{"email", `{"name": "Ada", "age": 3, "email": "ad`},
		{"bounded string", `{"name": "Ada", "age": 3, "email": "a@b.c", "tags": ["m`},
	} {
		g := mustSchema(b, personSchema, Options{})
		at := func(g *Grammar) *Matcher {
			m := g.Matcher(v)
			for i := range len(place.before) {
				if !m.Accept(int32(place.before[i])) {
					b.Fatalf("%q is refused at %d", place.before, i)
				}
			}
			return m
		}
		b.Run("first/"+place.name, func(b *testing.B) {
			for b.Loop() {
				m := at(g)
				v.common.Clear()
				m.kept = newMasks(v, len(g.states))
				m.Mask(bits)
			}
		})
		b.Run("kept/"+place.name, func(b *testing.B) {
			m := at(g)
			for b.Loop() {
				m.masked = nil
				m.Mask(bits)
			}
		})
		b.Run("again/"+place.name, func(b *testing.B) {
			m := at(g)
			for b.Loop() {
				m.Mask(bits)
			}
		})
	}
}

// BenchmarkDocument is all masks and tokens of one document, divided by its tokens, with
// what a grammar keeps in place.
func BenchmarkDocument(b *testing.B) {
	v := benchmarkVocabulary(largeVocabulary(152000))
	g := mustSchema(b, personSchema, Options{})
	bits := make([]uint64, (v.Size()+63)/64)
	for b.Loop() {
		m := g.Matcher(v)
		for i := range len(personDocument) {
			m.Mask(bits)
			if !m.Accept(int32(personDocument[i])) {
				b.Fatalf("refused at %d", i)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(personDocument)), "ns/token")
}
