package hf

import (
	"strings"
	"testing"
)

// FuzzRoundTrip: whatever the text, valid or not, what a byte-level or a
// SentencePiece vocabulary makes of it gives it back.
func FuzzRoundTrip(f *testing.F) {
	var all []*Tokenizer
	for _, pre := range []string{"gpt-2", "smollm", "llama-bpe", "qwen2", "default"} {
		all = append(all, made(f, bytesAnd(pre, "a b", "Ġ a", "1 2", "Ċ Ċ", "ð Ł")))
	}
	sentence := made(f, pieces(map[string]float32{"▁a": 1}, "▁", "a", "b", "▁a", "ab"))
	for _, text := range []string{"", "ab ab", "  \n\n x", "\xff\xfe", "🙂 12", "it's <|end|>", "<0x41>"} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, special bool) {
		for _, tokenizer := range all {
			tokens := tokenizer.Encode(nil, text, special)
			if want := strings.ReplaceAll(text, "<|end|>", ""); special && decode(tokenizer, tokens) != want ||
				!special && decode(tokenizer, tokens) != text {
				t.Fatalf("%q: %q", text, decode(tokenizer, tokens))
			}
		}
		want := strings.ReplaceAll(text, blank, " ")
		if got := decode(sentence, sentence.Encode(nil, text, false)); got != want {
			t.Fatalf("SentencePiece: %q, want %q", got, want)
		}
	})
}

// FuzzLoad: whatever a file says, it is refused, or encodes to tokens that it has.
func FuzzLoad(f *testing.F) {
	f.Add(change(f, "bytelevel", nil), "the moon 🙂\n 12")
	f.Add(change(f, "sentencepiece", nil), "the moon 🙂\n 12")
	f.Add([]byte(`{"model":{"vocab":{"a":0,"b":4},"merges":[]},"added_tokens":[{"id":9,"content":"x","lstrip":true,"rstrip":true,"single_word":true}],"decoder":{"type":"Fuse"}}`), "a x b")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tokenizer, err := Load(data, Options{})
		if err != nil || len(text) > 1000 {
			return
		}
		inside(t, tokenizer, text)
	})
}

// FuzzVocabulary: the same of the metadata of GGUF files.
func FuzzVocabulary(f *testing.F) {
	f.Add("gpt2", "gpt-2", "a,b,ab,Ġ", "a b", []byte{1, 3, 4, 6}, "ab a")
	f.Add("llama", "", "<unk>,▁,a,▁a,<0x41>", "", []byte{2, 1, 1, 1, 6}, "A a")
	f.Fuzz(func(t *testing.T, model, pre, tokens, merges string, types []byte, text string) {
		v := Vocabulary{Model: model, Pre: pre, Tokens: strings.Split(tokens, ","), BOS: new(int32)}
		if merges != "" {
			v.Merges = strings.Split(merges, ",")
		}
		for i := range min(len(types), len(v.Tokens)) {
			v.Types = append(v.Types, int32(types[i]))
			v.Scores = append(v.Scores, float32(types[i]))
		}
		tokenizer, err := New(v)
		if err != nil || len(text) > 1000 {
			return
		}
		inside(t, tokenizer, text)
	})
}

func inside(t *testing.T, tokenizer *Tokenizer, text string) {
	t.Helper()
	for _, special := range []bool{false, true} {
		tokens := tokenizer.Encode(nil, text, special)
		for _, token := range tokens {
			if token < 0 || int(token) >= tokenizer.Size() {
				t.Fatalf("token %d of %d", token, tokenizer.Size())
			}
		}
		decode(tokenizer, tokens)
	}
	if got, want := tokenizer.Count(text), len(tokenizer.Encode(nil, text, true)); got != want {
		t.Fatalf("%d tokens counted, %d encoded", got, want)
	}
}

// A text without words to split at must not take the square of its length: each
// neighbour is looked up once, and two more for each pair that is joined.
func TestJoiningLooksUpThreePairsForEachByteAtMost(t *testing.T) {
	const n = 1 << 16
	for _, c := range []struct {
		name  string
		joins func(left, right *symbol) bool
	}{
		{"all", func(_, _ *symbol) bool { return true }},
		{"none", func(_, _ *symbol) bool { return false }},
		{"from the left", func(left, _ *symbol) bool { return left.start == 0 }},
		{"from the right", func(_, right *symbol) bool { return right.end == n }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := new(scratch)
			for i := range n {
				s.add(0, i, i+1)
			}
			calls := 0
			s.join(func(left, right *symbol) (merged, bool) {
				calls++
				return merged{}, c.joins(left, right)
			})
			if calls > 3*n {
				t.Errorf("%d look-ups for %d symbols", calls, n)
			}
		})
	}
}

func TestLongTextsWithoutWordsComeBack(t *testing.T) {
	for name, part := range map[string]string{"one byte": "a", "two": "ab", "spaces": " ", "no token": "é", "marker begun": "<", "digits": "1"} {
		text := strings.Repeat(part, 1<<16/len(part))
		for _, tokenizer := range []*Tokenizer{made(t, bytesAnd("smollm", "a a", "aa aa", "a b", "Ġ Ġ")), made(t, pieces(nil, "▁", "a", "b", "aa", "▁▁"))} {
			if got := decode(tokenizer, tokenizer.Encode(nil, text, true)); got != text {
				t.Errorf("%s: %d bytes came back of %d", name, len(got), len(text))
			}
		}
	}
}

// BenchmarkEncode encodes a text of about 1,000 words, and one word of as many
// bytes.
func BenchmarkEncode(b *testing.B) {
	prose := strings.Repeat("the moon and the sun of more than one day ", 100)
	for name, text := range map[string]string{"prose": prose, "one word": strings.Repeat("a", len(prose))} {
		for _, base := range []string{"bytelevel", "sentencepiece"} {
			b.Run(base+" "+name, func(b *testing.B) {
				tokenizer := counter(b, change(b, base, nil))
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				var tokens []int32
				for b.Loop() {
					tokens = tokenizer.Encode(tokens[:0], text, false)
				}
			})
		}
	}
}
