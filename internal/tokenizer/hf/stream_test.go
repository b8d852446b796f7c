package hf

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// streams are tokenizers that write characters outside of their vocabulary as
// several tokens: one of each kind.
func streams(t *testing.T) map[string]*Tokenizer {
	t.Helper()
	all := map[string]*Tokenizer{
		"GGUF bytes":         made(t, bytesAnd("gpt-2", "a b")),
		"GGUF SentencePiece": made(t, pieces(nil, "▁", "a", "b")),
	}
	_, cases := goldens(t)
	for _, c := range cases {
		if c.Name == "Llama 2" || c.Name == "Llama 3" {
			all[c.Name] = load(t, change(t, c.Base, c.Change))
		}
	}
	if len(all) != 4 {
		t.Fatalf("%d tokenizers", len(all))
	}
	return all
}

func TestNoCharacterIsCutInAStream(t *testing.T) {
	for name, tokenizer := range streams(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				part := rapid.OneOf(rapid.SampledFrom([]string{"🙂", "👩‍💻", "日本", "é", "e\u0301", " ", "  ", "ab"}), rapid.String())
				text := strings.ReplaceAll(strings.Join(rapid.SliceOf(part).Draw(t, "parts"), ""), blank, "")
				d := tokenizer.Decoder(true)
				var out strings.Builder
				for _, token := range tokenizer.Encode(nil, text, false) {
					ready := d.Push(token)
					if !utf8.ValidString(ready) {
						t.Fatalf("%q of %q is no whole characters", ready, text)
					}
					out.WriteString(ready)
				}
				if rest := d.Flush(); rest != "" {
					t.Fatalf("%q is left over of %q", rest, text)
				}
				if out.String() != text {
					t.Fatalf("%q, want %q", out.String(), text)
				}
			})
		})
	}
}

func TestTheTailOfAStreamIsFlushedOnceAndOnlyWhenCut(t *testing.T) {
	for name, tokenizer := range streams(t) {
		t.Run(name, func(t *testing.T) {
			tokens := tokenizer.Encode(nil, "🙂", false)
			want := "🙂"[:3]
			var bytes []byte
			d := tokenizer.Decoder(false)
			var got []string
			for _, token := range tokens[:len(tokens)-1] {
				bytes = append(bytes, tokenizer.Bytes(token)...)
				got = append(got, strings.TrimLeft(d.Push(token), " "))
			}
			if text := strings.Join(got, ""); text != "" {
				t.Errorf("%q came before its character was whole", text)
			}
			if text := strings.TrimLeft(string(bytes), " "); text != want {
				t.Errorf("bytes of tokens: %q, want %q", text, want)
			}
			if first, second := d.Flush(), d.Flush(); first != want || second != "" {
				t.Errorf("flushed %q and %q, want %q once", first, second, want)
			}
		})
	}
}

func TestBytesThatAreNoTextPassThrough(t *testing.T) {
	tokenizer := made(t, bytesAnd("gpt-2"))
	for _, c := range []struct {
		text string
		want []string // by byte, the flush last
	}{
		{"\xff", []string{"\xff", ""}},
		{"\xf0\x9fa", []string{"", "", "\xf0\x9fa", ""}},
		{"\xc3\xc3\xa9", []string{"", "\xc3", "é", ""}},
		{"\xed\xa0\x80", []string{"", "\xed\xa0", "\x80", ""}},
		{"\xe2\x82", []string{"", "", "\xe2\x82"}},
	} {
		d := tokenizer.Decoder(true)
		var got []string
		for _, token := range tokenizer.Encode(nil, c.text, false) {
			got = append(got, d.Push(token))
		}
		got = append(got, d.Flush())
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

// SentencePiece writes a space before a text, which is not in the text; it is where
// a text goes on.
func TestASpaceIsDroppedOnlyWhereATextBegins(t *testing.T) {
	tokenizer := streams(t)["GGUF SentencePiece"]
	tokens := tokenizer.Encode(nil, "a", false)
	for begins, want := range map[bool]string{true: "a a", false: " a a"} {
		d := tokenizer.Decoder(begins)
		got := d.Push(-1)
		for _, token := range append(append([]int32{2}, tokens...), tokens...) {
			got += d.Push(token)
		}
		if got += d.Flush(); got != want {
			t.Errorf("begins %v: %q, want %q", begins, got, want)
		}
	}
}
