package tokenizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBuiltinFindsMarkersWhereTheyMayBe(t *testing.T) {
	the, _ := Builtin().Token("the")
	for _, c := range []struct {
		name, text string
		want       []int32
	}{
		{"none", "the", []int32{the}},
		{"between", "<|user|>the<|end|>", []int32{User, the, End}},
		{"side by side", "<s></s><pad>", []int32{BOS, EOS, Pad}},
		{"cut short", "<|user|the", Encode(nil, "<|user|the")},
		{"begun twice", "<<|end|>", append(Encode(nil, "<"), End)},
		{"empty", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Builtin().Encode(nil, c.text, true)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(Encode(nil, c.text), Builtin().Encode(nil, c.text, false)); diff != "" {
				t.Errorf("as plain text: %s", diff)
			}
		})
	}
}

func TestBuiltinTokensAreFoundByTheirNames(t *testing.T) {
	b := Builtin()
	for token := range int32(b.Size()) {
		found, ok := b.Token(b.Name(token))
		if !ok || b.Name(found) != b.Name(token) {
			t.Errorf("token %d, %q: found %d, %v", token, b.Name(token), found, ok)
		}
		if got := string(b.Bytes(token)); got != Text(token) || (got == "") != b.Special(token) {
			t.Errorf("token %d: bytes %q, text %q, special %v", token, got, Text(token), b.Special(token))
		}
	}
	for _, token := range []int32{-1, Size} {
		if b.Bytes(token) != nil || b.Special(token) || b.Name(token) != "" {
			t.Errorf("token %d, outside of the vocabulary: %q, %v, %q", token, b.Bytes(token), b.Special(token), b.Name(token))
		}
	}
	if token, ok := b.Token("zqx"); ok {
		t.Errorf("zqx: found %d", token)
	}
}

// Whatever the tokens, what a decoder gives piece by piece are their bytes.
func TestBuiltinDecoderLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Builtin()
		var want, got strings.Builder
		d := b.Decoder(true)
		for _, token := range rapid.SliceOf(rapid.Int32Range(0, Size-1)).Draw(t, "tokens") {
			want.Write(b.Bytes(token))
			got.WriteString(d.Push(token))
		}
		got.WriteString(d.Flush())
		if got.String() != want.String() {
			t.Fatalf("got %q, want %q", got.String(), want.String())
		}
	})
}
