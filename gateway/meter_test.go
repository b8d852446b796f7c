package gateway

import (
	"testing"

	"github.com/tidwall/gjson"
)

func TestReadUsage(t *testing.T) {
	cases := []struct {
		name, json string
		want       tally
		ok         bool
	}{
		{"whole", `{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8}}`, tally{input: 9, cached: 8, output: 4}, true},
		{"no output", `{"prompt_tokens":9}`, tally{input: 9, cached: 0, output: 0}, true},
		{"null", `null`, tally{}, false},
		{"no counts", `{}`, tally{}, false},
		{"more cached than prompt", `{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":10}}`, tally{input: 9, cached: 10, output: 0}, false},
		{"zeros of a server that does not count", `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, tally{}, false},
		{"null for counts", `{"prompt_tokens":null,"completion_tokens":null}`, tally{}, false},
		{"negative", `{"prompt_tokens":9,"completion_tokens":-4}`, tally{input: 9, output: -4}, false},
		{"beyond any request", `{"prompt_tokens":9,"completion_tokens":1000000000000}`, tally{input: 9, output: 1e12}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := readUsage(gjson.Parse(c.json))
			if got != c.want || ok != c.ok {
				t.Errorf("got %+v, %v, want %+v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}
