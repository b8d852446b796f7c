package hf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/internal/tokenizer/corpus"
)

// bytesAnd is a byte-level vocabulary: a special, all bytes, and what merges make.
func bytesAnd(pre string, merges ...string) Vocabulary {
	v := Vocabulary{Model: "gpt2", Pre: pre, Tokens: []string{"<|end|>"}, Types: []int32{typeControl}, BOS: new(int32)}
	add := func(text string) {
		v.Tokens = append(v.Tokens, text)
		v.Types = append(v.Types, typeNormal)
	}
	for _, text := range visible {
		add(text)
	}
	for _, m := range merges {
		v.Merges = append(v.Merges, m)
		add(strings.Replace(m, " ", "", 1))
	}
	return v
}

// pieces is a SentencePiece vocabulary with all bytes.
func pieces(scored map[string]float32, order ...string) Vocabulary {
	v := Vocabulary{Model: "llama", Tokens: []string{"<unk>", "<s>", "</s>"}, Scores: make([]float32, 3),
		Types: []int32{typeUnknown, typeControl, typeControl}, BOS: new(int32(1)), Unknown: new(int32)}
	for b := range 256 {
		v.Tokens, v.Scores, v.Types = append(v.Tokens, fmt.Sprintf("<0x%02X>", b)), append(v.Scores, 0), append(v.Types, typeByte)
	}
	for _, text := range order {
		v.Tokens, v.Scores, v.Types = append(v.Tokens, text), append(v.Scores, scored[text]), append(v.Types, typeNormal)
	}
	return v
}

func made(t testing.TB, v Vocabulary) *Tokenizer {
	t.Helper()
	tokenizer, err := New(v)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// names writes tokens so that they can be compared.
func names(t *Tokenizer, tokens []int32) string {
	var out []string
	for _, token := range tokens {
		out = append(out, t.Name(token))
	}
	return strings.Join(out, "|")
}

func TestGGUFSplitsAsItsPreTokenizerSays(t *testing.T) {
	merges := []string{"1 2", "12 3", "123 4", "Ġ a", "a a", "Ċ Ċ", "aa !", "' S"}
	for _, c := range []struct{ pre, text, want string }{
		{"gpt-2", "1234 a", "1234| a"},
		{"smollm", "1234 a", "1|2|3|4| a"},
		{"llama-bpe", "1234 a", "123|4| a"},
		{"llama3", "1234 a", "123|4| a"},
		{"qwen2", "1234 a", "1|2|3|4| a"},
		{"default", "1234 a", "123|4| a"},
		{"", "aa!\n\n", "aa|!|\n\n"},
		{"gpt-2", "a\n\na", "a|\n|\n|a"},
		{"llama-bpe", "a\n\na", "a|\n\n|a"},
		{"gpt-2", "A'S", "A|'|S"},
		{"qwen2", "A'S", "A|'S"},
	} {
		t.Run(c.pre+" "+c.text, func(t *testing.T) {
			tokenizer := made(t, bytesAnd(c.pre, merges...))
			if got := names(tokenizer, tokenizer.Encode(nil, c.text, false)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSentencePieceJoinsByScores(t *testing.T) {
	scores := map[string]float32{"▁": -9, "a": -9, "b": -9, "ab": -1, "▁a": -2, "▁ab": -3, "ba": 0}
	order := []string{"▁", "a", "b", "ab", "▁a", "▁ab", "ba"}
	yes, no := true, false
	for _, c := range []struct {
		name, text string
		prefix     *bool
		special    bool
		want, back string
	}{
		{"space before", "ab", nil, false, " ab", "ab"},
		{"no space before", "ab", &no, false, "ab", "ab"},
		{"highest score first", "aba", &yes, false, " a|ba", "aba"},
		{"bytes of what is no token", "é", nil, false, " |\xc3|\xa9", "é"},
		{"markers are text", "<s>", &no, false, "<|s|>", "<s>"},
		{"markers", "a<s>ab", nil, true, " a|<s>| ab", "a ab"},
		{"two spaces", "a  b", nil, false, " a| | |b", "a  b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := pieces(scores, order...)
			v.AddSpacePrefix = c.prefix
			tokenizer := made(t, v)
			tokens := tokenizer.Encode(nil, c.text, c.special)
			if got := names(tokenizer, tokens); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := decode(tokenizer, tokens); got != c.back {
				t.Errorf("decoded %q, want %q", got, c.back)
			}
		})
	}
}

func TestGGUFKnowsWhatTokensAre(t *testing.T) {
	v := bytesAnd("gpt-2", "a b")
	v.Tokens, v.Types = append(v.Tokens, "<tool>", "Ġ  x", "<eot>", "left over", ""), append(v.Types, typeUserDefined, typeUserDefined, typeNormal, typeUnused, typeNormal)
	n := int32(len(v.Tokens))
	v.Ends = []int32{n - 3}
	tokenizer := made(t, v)
	for _, c := range []struct {
		token       int32
		name, bytes string
		special     bool
	}{
		{0, "<|end|>", "", true},
		{1, "\x00", "\x00", false},
		{257, "ab", "ab", false},
		{n - 5, "<tool>", "<tool>", false},
		{n - 4, "Ġ  x", "Ġ  x", false},
		{n - 3, "<eot>", "", true},
		{n - 2, "left over", "", false},
		{n - 1, "", "", false},
		{n, "", "", false},
		{-1, "", "", false},
	} {
		if name, bytes, special := tokenizer.Name(c.token), string(tokenizer.Bytes(c.token)), tokenizer.Special(c.token); name != c.name || bytes != c.bytes || special != c.special {
			t.Errorf("token %d: %q, %q, %v; want %q, %q, %v", c.token, name, bytes, special, c.name, c.bytes, c.special)
		}
		if found, ok := tokenizer.Token(c.name); c.name != "" && (!ok || found != c.token) {
			t.Errorf("%q: token %d, want %d", c.name, found, c.token)
		}
	}
	if got := names(tokenizer, tokenizer.Encode(nil, "a<tool><eot>", false)); got != "a|<tool>|<|e|o|t|>" {
		t.Errorf("without special tokens: %q", got)
	}
	v.TrimMarkers = true
	trimmed := made(t, v)
	if got := names(trimmed, trimmed.Encode(nil, "a <eot> \n a", true)); got != "a| |<eot>|a" {
		t.Errorf("trimmed: %q", got)
	}
}

func TestSequencesBeginAsTheModelWants(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name string
		v    Vocabulary
		add  *bool
		want []int32
	}{
		{"Llama 3 by habit", bytesAnd("llama-bpe"), nil, []int32{0}},
		{"Qwen by habit", bytesAnd("qwen2"), nil, nil},
		{"SentencePiece by habit", pieces(nil), nil, []int32{1}},
		{"said to", bytesAnd("qwen2"), &yes, []int32{0}},
		{"said not to", pieces(nil), &no, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.v.AddBOS = c.add
			if diff := cmp.Diff(c.want, made(t, c.v).Begin()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*Vocabulary)
	}{
		{"model", `tokenizer.ggml.model "rwkv" is not supported`, func(v *Vocabulary) { v.Model = "rwkv" }},
		{"pre-tokenizer", `tokenizer.ggml.pre "mine" is not supported`, func(v *Vocabulary) { v.Pre = "mine" }},
		{"no tokens", "no tokens", func(v *Vocabulary) { v.Tokens, v.Types = nil, nil }},
		{"types", "3 token types for 257 tokens", func(v *Vocabulary) { v.Types = v.Types[:3] }},
		{"scores", "0 scores for 257 tokens", func(v *Vocabulary) { v.Model = "llama" }},
		{"token twice", "tokens 1 and 3 are both", func(v *Vocabulary) { v.Tokens[3] = v.Tokens[1] }},
		{"merge of one", `merge "ab" has no space`, func(v *Vocabulary) { v.Merges = []string{"ab"} }},
		{"merge of what is not there", `merge 0 of "a" and "b"`, func(v *Vocabulary) { v.Merges = []string{"a b"} }},
		{"special beyond the end", "special token 257 is outside of the vocabulary of 257", func(v *Vocabulary) { v.Ends = []int32{257} }},
		{"no token to begin with", "bos_token_id, which is missing", func(v *Vocabulary) { v.BOS, v.Pre = nil, "llama-bpe" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := bytesAnd("gpt-2")
			c.change(&v)
			if _, err := New(v); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// The scanners by hand must match what the patterns say.
func TestScannersMatchTheirPatterns(t *testing.T) {
	texts := corpus.Lines()[:1000]
	for expression, scan := range scanners {
		before, after, ahead := strings.Cut(expression, rest)
		if ahead {
			expression = before + `(?P<rest>\s+)` + after
		}
		slow, err := compileGo(expression)
		if err != nil {
			t.Fatal(err)
		}
		fast := pattern{scan: scan}
		check := func(fail func(string, ...any), text string) {
			if diff := cmp.Diff(slow.isolate(nil, text), fast.isolate(nil, text)); diff != "" {
				fail("%.20s… on %q: %s", expression, text, diff)
			}
		}
		for _, text := range texts {
			check(t.Errorf, text)
		}
		rapid.Check(t, func(t *rapid.T) {
			part := rapid.SampledFrom([]string{"a", "É", "'s", "'Re", "'LL", "'", "'ſ", "'Kk", "1", "½", " ", "\n", "\r", "\u3000", "!", "🙂", "\xff", "\u0301"})
			check(t.Fatalf, strings.Join(rapid.SliceOf(part).Draw(t, "text"), ""))
		})
	}
}
