package hf

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheConfigurationSaysWhetherBOSBegins(t *testing.T) {
	yes, no := true, false
	template := json.RawMessage(`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"special_tokens":{"<s>":{"ids":[1]},"</s>":{"ids":[2]}}}`)
	for _, c := range []struct {
		name string
		post json.RawMessage
		o    Options
		want []int32
	}{
		{"as the file says", template, Options{}, []int32{1}},
		{"neither says", nil, Options{}, nil},
		{"only the configuration", nil, Options{AddBOS: &yes, BOS: "</s>"}, []int32{2}},
		{"not, in spite of the file", template, Options{AddBOS: &no}, nil},
		{"the class of BERT", json.RawMessage(`{"type":"RobertaProcessing","cls":["<s>",1],"sep":["</s>",2]}`), Options{}, []int32{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			members := map[string]json.RawMessage{}
			if c.post != nil {
				members["post_processor"] = c.post
			}
			tokenizer, err := Load(change(t, "sentencepiece", members), c.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, tokenizer.Begin()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What does not matter for counting does for running a model.
func TestLoadRefusesWhatParseCountsBy(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name, member, value string
		o                   Options
		want                string
	}{
		{"decoder", "decoder", `{"type":"CTC"}`, Options{}, `decoder of type "CTC" is not supported`},
		{"replacing by a pattern", "decoder", `{"type":"Replace","pattern":{"Regex":"a"},"content":"b"}`, Options{}, "Replace is supported for a String"},
		{"stripping the end", "decoder", `{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":" ","start":0,"stop":1}]}`, Options{}, "not for start 0 and stop 1"},
		{"post-processor", "post_processor", `{"type":"Mine"}`, Options{}, `post_processor of type "Mine" is not supported`},
		{"token to begin with", "post_processor", `{"type":"RobertaProcessing","cls":["x",99999]}`, Options{}, "token 99999 is outside of the vocabulary"},
		{"class that is none", "post_processor", `{"type":"BertProcessing"}`, Options{}, "cls is no token and its id"},
		{"BOS that is none", "decoder", `null`, Options{AddBOS: &yes, BOS: "<begin>"}, `token "<begin>", which begins every sequence`},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := change(t, "sentencepiece", map[string]json.RawMessage{c.member: json.RawMessage(c.value)})
			if _, err := Parse(data); err != nil {
				t.Errorf("counting: %v", err)
			}
			if _, err := Load(data, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestNumbersOfTokensAreBounded(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"huge", `{"model":{"vocab":{"a":2000000000},"merges":[]}}`, `token "a" has number 2000000000, expected 0 to`},
		{"negative", `{"model":{"vocab":{"a":-1},"merges":[]}}`, `token "a" has number -1`},
		{"none", `{"model":{"vocab":{"a":0},"merges":[]},"added_tokens":[{"content":"b"}]}`, `added_tokens: "b" has no number`},
		{"added and huge", `{"model":{"vocab":{"a":0},"merges":[]},"added_tokens":[{"id":2000000000,"content":"b"}]}`, `added_tokens: "b" has no number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
