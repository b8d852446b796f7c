package hf

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// change is the file testdata/<base>.json with some members replaced, those of
// the model by model.<name>.
func change(t testing.TB, base string, members map[string]json.RawMessage) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + base + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var file, model map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file["model"], &model); err != nil {
		t.Fatal(err)
	}
	for name, value := range members {
		if inner, ok := strings.CutPrefix(name, "model."); ok {
			model[inner] = value
		} else {
			file[name] = value
		}
	}
	if file["model"], err = json.Marshal(model); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	return data
}

func counter(t testing.TB, data []byte) *Tokenizer {
	t.Helper()
	tokenizer, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// TestCounts holds counts against those of the tokenizers library (0.23), for
// the kinds of tokenizer that models have, with small vocabularies.
func TestCounts(t *testing.T) {
	data, err := os.ReadFile("testdata/counts.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts []string
		Cases []struct {
			Name, Base string
			Change     map[string]json.RawMessage
			Counts     []int
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 18 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for _, tt := range golden.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			tokenizer := counter(t, change(t, tt.Base, tt.Change))
			for i, text := range golden.Texts {
				if got := tokenizer.Count(text); got != tt.Counts[i] {
					t.Errorf("%.80q: %d tokens, want %d", text, got, tt.Counts[i])
				}
			}
		})
	}
}

// TestJoin compares the queue of pairs with joining the best pair one after
// another.
func TestJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		merges := map[uint64]merged{}
		next := int32(4)
		for rank := range int32(rapid.IntRange(1, 12).Draw(t, "merges")) {
			id := rapid.Int32Range(0, next-1)
			p := both(id.Draw(t, "left"), id.Draw(t, "right"))
			if _, ok := merges[p]; !ok {
				merges[p] = merged{rank, next}
				next++
			}
		}
		want := rapid.SliceOfN(rapid.Int32Range(0, 3), 1, 40).Draw(t, "ids")
		s := new(scratch)
		for i, id := range want {
			s.add(id, i, i+1)
		}
		s.join(func(left, right *symbol) (merged, bool) {
			m, ok := merges[both(left.id, right.id)]
			return m, ok
		})
		var got []int32
		for i := int32(0); i >= 0; i = s.symbols[i].next {
			got = append(got, s.symbols[i].id)
		}
		for {
			best, at := merged{rank: 1 << 30}, -1
			for i := range len(want) - 1 {
				if m, ok := merges[both(want[i], want[i+1])]; ok && m.rank < best.rank {
					best, at = m, i
				}
			}
			if at < 0 {
				break
			}
			want = append(append(append([]int32(nil), want[:at]...), best.id), want[at+2:]...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	const model = `"model":{"type":"BPE","vocab":{"a":0},"merges":[]}`
	for _, tt := range []struct{ name, data, want string }{
		{"not JSON", `x`, "reading a tokenizer.json"},
		{"another JSON", `{"a":1}`, "no tokenizer.json: it has no model"},
		{"Unigram", `{"model":{"type":"Unigram","vocab":[]}}`, `model of type "Unigram" is not supported`},
		{"no vocabulary", `{"model":{"type":"BPE"}}`, "model: no vocabulary"},
		{"merge of what is not there", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`, `merge 0 of "a" and "b"`},
		{"merge of one", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["ab"]}}`, `merge "ab" has no space`},
		{"merge of three", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}}`, "joins two pieces, not 3"},
		{"end of words", `{"model":{"type":"BPE","vocab":{"a":0},"end_of_word_suffix":"</w>"}}`, `end_of_word_suffix "</w>" is not supported`},
		{"normalizer", `{` + model + `,"normalizer":{"type":"Precompiled"}}`, `normalizer of type "Precompiled"`},
		{"pre-tokenizer", `{` + model + `,"pre_tokenizer":{"type":"UnicodeScripts"}}`, `pre_tokenizer of type "UnicodeScripts"`},
		{"behavior", `{` + model + `,"pre_tokenizer":{"type":"Split","pattern":{"String":"x"},"behavior":"Contiguous"}}`, `behavior "Contiguous"`},
		{"pattern that looks back", `{` + model + `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?<=a)b"},"behavior":"Isolated"}}`, `pattern "(?<=a)b" is not supported`},
		{"letters of a word", `{` + model + `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Isolated"}}`, `pattern "\\w+" is not supported: \w`},
		{"no pattern", `{` + model + `,"pre_tokenizer":{"type":"Split","pattern":{},"behavior":"Isolated"}}`, "neither Regex nor String"},
		{"prepend scheme", `{` + model + `,"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}}`, `prepend_scheme "last"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
	if _, err := Read("testdata/none.json"); err == nil || !strings.Contains(err.Error(), "testdata/none.json") {
		t.Errorf("%v", err)
	}
}

// FuzzParse: whatever a file says, it is refused or counts.
func FuzzParse(f *testing.F) {
	for _, base := range []string{"bytelevel", "sentencepiece", "wordpiece"} {
		data, err := os.ReadFile("testdata/" + base + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "the moon 🙂\n 12")
	}
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\s*"},"behavior":"MergedWithNext"}}`), "ab ab")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if tokenizer, err := Parse(data); err == nil && len(text) < 1000 {
			if n := tokenizer.Count(text); n < 0 {
				t.Fatalf("%d tokens", n)
			}
		}
	})
}

// FuzzCount: a byte-level vocabulary loses nothing, so that a text has as many
// tokens as bytes at most and one at least.
func FuzzCount(f *testing.F) {
	tokenizer := counter(f, change(f, "bytelevel", nil))
	for _, text := range []string{"a", "  \n x", "\xff\xfe", "🙂", "it's"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n := tokenizer.Count(text); n > len(text) || n < min(1, len(text)) {
			t.Fatalf("%q: %d tokens", text, n)
		}
	})
}

// BenchmarkCount counts a text of about 1,000 words.
func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("the moon and the sun of more than one day ", 100)
	for _, base := range []string{"bytelevel", "sentencepiece"} {
		b.Run(base, func(b *testing.B) {
			tokenizer := counter(b, change(b, base, nil))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tokenizer.Count(text)
			}
		})
	}
}
