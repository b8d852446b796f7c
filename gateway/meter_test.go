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
		{"reasoning on top of the output, as the total says", `{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`, true, tally{input: 32, output: 103, reasoning: 94}, true},
		{"less reasoning on top", `{"prompt_tokens":32,"completion_tokens":90,"total_tokens":131,"completion_tokens_details":{"reasoning_tokens":9}}`, true, tally{input: 32, output: 99, reasoning: 9}, true},
		{"reasoning on top of a response's", `{"input_tokens":32,"output_tokens":9,"total_tokens":135,"output_tokens_details":{"reasoning_tokens":94}}`, true, tally{input: 32, output: 103, reasoning: 94}, true},
		{"reasoning inside of the output, as the total says", `{"prompt_tokens":32,"completion_tokens":103,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`, true, tally{input: 32, output: 103, reasoning: 94}, true},
		{"reasoning inside without a total", `{"prompt_tokens":32,"completion_tokens":103,"completion_tokens_details":{"reasoning_tokens":94}}`, true, tally{input: 32, output: 103, reasoning: 94}, true},
		{"more reasoning than output, and a total of neither", `{"prompt_tokens":32,"completion_tokens":9,"total_tokens":41,"completion_tokens_details":{"reasoning_tokens":94}}`, true, tally{input: 32, output: 9, reasoning: 94}, false},
		{"reasoning at the top", `{"prompt_tokens":32,"completion_tokens":103,"total_tokens":135,"reasoning_tokens":94}`, true, tally{input: 32, output: 103, reasoning: 94}, true},
		{"both styles, one of zeros", `{"prompt_tokens":1000,"completion_tokens":90,"input_tokens":0,"output_tokens":0,"prompt_tokens_details":{"cached_tokens":800},"input_tokens_details":{"cached_tokens":0}}`, true, tally{input: 1000, cached: 800, output: 90}, true},
		{"both styles, one of nulls", `{"prompt_tokens":1000,"completion_tokens":90,"input_tokens":null,"output_tokens":null,"input_tokens_details":null,"prompt_tokens_details":{"cached_tokens":800}}`, true, tally{input: 1000, cached: 800, output: 90}, true},
		{"both styles, the other of zeros", `{"input_tokens":1000,"output_tokens":90,"prompt_tokens":0,"completion_tokens":0,"output_tokens_details":{"reasoning_tokens":50},"completion_tokens_details":{"reasoning_tokens":0}}`, true, tally{input: 1000, output: 90, reasoning: 50}, true},
		{"both styles, one half counted", `{"input_tokens":1000,"output_tokens":0,"prompt_tokens":1000,"completion_tokens":90}`, true, tally{input: 1000, output: 90}, true},
		{"both styles of zeros", `{"input_tokens":0,"output_tokens":0,"prompt_tokens":0,"completion_tokens":0}`, true, tally{}, false},
		{"DeepSeek's cached tokens", `{"prompt_tokens":1000,"completion_tokens":90,"prompt_cache_hit_tokens":896,"prompt_cache_miss_tokens":104}`, true, tally{input: 1000, cached: 896, output: 90}, true},
		{"Moonshot's cached tokens", `{"prompt_tokens":1000,"completion_tokens":90,"cached_tokens":896}`, true, tally{input: 1000, cached: 896, output: 90}, true},
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

// What a usage object tells is known, be it zero, and what it does not tell is unknown.
func TestWhichPartsUsageTells(t *testing.T) {
	for usage, want := range map[string][2]bool{
		`{"prompt_tokens":9,"completion_tokens":4}`:                                                                    {},
		`{"prompt_tokens":9,"completion_tokens":4,"prompt_cache_hit_tokens":0}`:                                        {true, false},
		`{"prompt_tokens":9,"completion_tokens":4,"reasoning_tokens":0}`:                                               {false, true},
		`{"prompt_tokens":9,"completion_tokens":4,"input_tokens_details":null,"prompt_tokens_details":{}}`:             {},
		`{"input_tokens":9,"output_tokens":4,"input_tokens_details":{"cached_tokens":3},"output_tokens_details":null}`: {true, false},
	} {
		m := meter{generates: true}
		if !m.report(gjson.Parse(usage)) {
			t.Fatalf("%s is not believed", usage)
		}
		_, cached := m.used().Cached.Value()
		_, reasoning := m.used().Reasoning.Value()
		if got := [2]bool{cached, reasoning}; got != want {
			t.Errorf("%s tells %v, want %v", usage, got, want)
		}
	}
}
