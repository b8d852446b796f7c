package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestVocabularyIsCompleteAndUnambiguous(t *testing.T) {
	if got := len(Words()); got != wordCount {
		t.Fatalf("words: got %d, want %d", got, wordCount)
	}
	if got, want := len(pieceList), firstWord-firstPiece; got != want {
		t.Fatalf("pieces: got %d, want %d", got, want)
	}
	seen := map[string]int{}
	for i, text := range texts {
		if i >= firstByte && text == "" {
			t.Errorf("token %d has no text", i)
		}
		if i < firstPiece {
			continue // a one-byte piece takes precedence over its byte token
		}
		if j, ok := seen[text]; ok {
			t.Errorf("tokens %d and %d both stand for %q", j, i, text)
		}
		seen[text] = i
	}
}

func TestEncode(t *testing.T) {
	word := func(s string) int32 {
		for i, w := range Words() {
			if w == s {
				return int32(firstWord + i)
			}
		}
		t.Fatalf("%q is not in the vocabulary", s)
		return 0
	}
	spaced := func(s string) int32 { return word(s) + wordCount }
	piece := func(s string) int32 {
		for i, p := range pieceList {
			if p == s {
				return int32(firstPiece + i)
			}
		}
		t.Fatalf("%q is not a piece", s)
		return 0
	}
	for _, c := range []struct {
		name, text string
		want       []int32
	}{
		{"empty", "", nil},
		{"one word", "the", []int32{word("the")}},
		{"leading space", " the", []int32{spaced("the")}},
		{"longest match wins", "then the", []int32{word("then"), spaced("the")}},
		{"punctuation", "the moon, the sun.", []int32{word("the"), spaced("moon"), piece(","), spaced("the"), spaced("sun"), piece(".")}},
		{"two spaces", "the  moon", []int32{word("the"), piece("  "), word("moon")}},
		{"digits", "10", []int32{piece("1"), piece("0")}},
		{"unknown letters", "the zqx", []int32{word("the"), firstByte + ' ', firstByte + 'z', firstByte + 'q', firstByte + 'x'}},
		{"emoji falls back to bytes", "🙂", []int32{firstByte + 0xf0, firstByte + 0x9f, firstByte + 0x99, firstByte + 0x82}},
		{"marker in text stays text", "<s>", []int32{piece("<"), firstByte + 's', piece(">")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Encode(nil, c.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWordsJoinedBySpacesAreOneTokenEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(Words()), 1, 200).Draw(t, "words")
		if got := len(Encode(nil, strings.Join(words, " "))); got != len(words) {
			t.Fatalf("got %d tokens for %d words", got, len(words))
		}
	})
}

func TestEncodeNeverProducesSpecials(t *testing.T) {
	text := strings.Join(specialNames[:], "")
	for _, token := range Encode(nil, text) {
		if ClassOf(token) == Special {
			t.Fatalf("text %q produced the special token %s", text, Name(token))
		}
	}
}

func TestStreamNeverCutsACharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var s Stream
		var out strings.Builder
		for _, token := range Encode(nil, text) {
			part := s.Push(token)
			if !utf8.ValidString(part) {
				t.Fatalf("part %q of %q is not UTF-8", part, text)
			}
			out.WriteString(part)
		}
		if rest := s.Flush(); rest != "" {
			t.Fatalf("%q left over from valid text %q", rest, text)
		}
		if out.String() != text {
			t.Fatalf("got %q, want %q", out.String(), text)
		}
	})
}

func TestStreamHoldsUntilComplete(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // one part per byte
		flush      string
	}{
		{"four bytes", "🙂", []string{"", "", "", "🙂"}, ""},
		{"cut short", "\xf0\x9f", []string{"", ""}, "\xf0\x9f"},
		{"broken by ASCII", "\xf0\x9fa", []string{"", "", "\xf0\x9fa"}, ""},
		{"stray continuation", "\x82", []string{"\x82"}, ""},
		{"two characters", "éé", []string{"", "é", "", "é"}, ""},
		{"never a character", "\xff", []string{"\xff"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Stream
			var got []string
			for _, b := range []byte(c.text) {
				got = append(got, s.Push(firstByte+int32(b)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if rest := s.Flush(); rest != c.flush {
				t.Errorf("flush: got %q, want %q", rest, c.flush)
			}
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, seed := range []string{"", "the moon", "  \n\t", "\xff\xfe", "naïve 🙂 <s>", strings.Repeat("there ", 50)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Encode(nil, text)
		if got := Decode(tokens); got != text {
			t.Fatalf("decoding: got %q, want %q", got, text)
		}
		var s Stream
		var out strings.Builder
		for _, token := range tokens {
			out.WriteString(s.Push(token))
		}
		out.WriteString(s.Flush())
		if out.String() != text {
			t.Fatalf("streaming: got %q, want %q", out.String(), text)
		}
	})
}

func benchmarkText() string {
	r := rand.New(rand.NewPCG(1, 2))
	words := Words()
	var b strings.Builder
	for range 1000 {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

func BenchmarkEncode(b *testing.B) {
	text := benchmarkText()
	tokens := Encode(nil, text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tokens = Encode(tokens[:0], text)
	}
}

func BenchmarkStream(b *testing.B) {
	tokens := Encode(nil, benchmarkText())
	b.ReportAllocs()
	var s Stream
	i := 0
	for b.Loop() {
		s.Push(tokens[i%len(tokens)])
		i++
	}
}
