package gateway

import (
	"testing"

	"github.com/tidwall/gjson"
)

func TestReadUsage(t *testing.T) {
	cases := []struct {
		name, json string
		generates  bool
		want       tally
		ok         bool
	}{
		{"whole", `{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8}}`, false, tally{input: 9, cached: 8, output: 4}, true},
		{"no output", `{"prompt_tokens":9}`, false, tally{input: 9, cached: 0, output: 0}, true},
		{"no output where there should be", `{"prompt_tokens":9}`, true, tally{}, false},
		{"output that is no number", `{"prompt_tokens":9,"completion_tokens":"abc"}`, true, tally{}, false},
		{"null counts", `{"prompt_tokens":null,"completion_tokens":null}`, true, tally{}, false},
		{"null", `null`, false, tally{}, false},
		{"no counts", `{}`, false, tally{}, false},
		{"more cached than prompt", `{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":10}}`, false, tally{input: 9, cached: 10, output: 0}, false},
		{"zeros of a server that does not count", `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, false, tally{}, false},
		{"null for counts", `{"prompt_tokens":null,"completion_tokens":null}`, false, tally{}, false},
		{"negative", `{"prompt_tokens":9,"completion_tokens":-4}`, false, tally{input: 9, output: -4}, false},
		{"beyond any request", `{"prompt_tokens":9,"completion_tokens":1000000000000}`, false, tally{input: 9, output: 1e12}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := readUsage(gjson.Parse(c.json), c.generates)
			if got != c.want || ok != c.ok {
				t.Errorf("got %+v, %v, want %+v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}
