package gateway

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/limit"
)

func TestRequestsAreEditedByteForByte(t *testing.T) {
	const salt = "s"
	tests := []struct {
		name   string
		limit  config.MaxTokens
		salted bool
		usage  bool
		body   string
		want   string
	}{
		{"only the model changes", config.MaxTokens{}, false, true,
			` { "x_future" : {"a":1e0, "model":"inner"} ,"model":  "small","guided_json":{"b": [ ]},  "chat_template_kwargs":{} } `,
			`{ "x_future" : {"a":1e0, "model":"inner"} ,"model":  "real/\"m\"","guided_json":{"b": [ ]},  "chat_template_kwargs":{} }`},
		{"a default for max_tokens", config.MaxTokens{Default: 512, Cap: 4096}, false, true,
			`{"model":"small"}`, `{"model":"real/\"m\"","max_tokens":512}`},
		{"the cap where there is no default", config.MaxTokens{Cap: 4096}, false, true,
			`{"model":"small","max_tokens":null}`, `{"model":"real/\"m\"","max_tokens":4096}`},
		{"a request below the cap stays", config.MaxTokens{Default: 512, Cap: 4096}, false, true,
			`{"max_tokens":1.0e1,"model":"small"}`, `{"max_tokens":1.0e1,"model":"real/\"m\""}`},
		{"a request above the cap is lowered under its own name", config.MaxTokens{Default: 512, Cap: 4096}, false, true,
			`{"max_completion_tokens":5000,"model":"small"}`, `{"max_completion_tokens":4096,"model":"real/\"m\""}`},
		{"both names are capped", config.MaxTokens{Cap: 10}, false, true,
			`{"max_completion_tokens":5000,"model":"small","max_tokens":11}`, `{"max_completion_tokens":10,"model":"real/\"m\"","max_tokens":10}`},
		{"usage is asked for in streams", config.MaxTokens{}, false, true,
			`{"model":"small","stream":true}`, `{"model":"real/\"m\"","stream":true,"stream_options":{"include_usage":true}}`},
		{"other stream options stay", config.MaxTokens{}, false, true,
			`{"stream_options":{"x": 1,"include_usage":false},"model":"small","stream":true}`,
			`{"stream_options":{"x": 1,"include_usage":true},"model":"real/\"m\"","stream":true}`},
		{"a stream that asks for usage itself stays", config.MaxTokens{}, false, true,
			`{"stream_options":{"include_usage": true},"model":"small","stream":true}`, `{"stream_options":{"include_usage": true},"model":"real/\"m\"","stream":true}`},
		{"usage that is declined under an escaped key", config.MaxTokens{}, false, true,
			`{"stream_options":{"\u0069nclude_usage" : null ,"x":1},"model":"small","stream":true}`,
			`{"stream_options":{"\u0069nclude_usage" : true ,"x":1},"model":"real/\"m\"","stream":true}`},
		{"other stream options alone", config.MaxTokens{}, false, true,
			`{"stream_options":{"include":{"include_usage":true} },"model":"small","stream":true}`,
			`{"stream_options":{"include":{"include_usage":true} ,"include_usage":true},"model":"real/\"m\"","stream":true}`},
		{"stream options of null", config.MaxTokens{}, false, true,
			`{"stream_options":null,"model":"small","stream":true}`,
			`{"stream_options":{"include_usage":true},"model":"real/\"m\"","stream":true}`},
		{"never without stream", config.MaxTokens{}, false, true,
			`{"stream":false,"model":"small"}`, `{"stream":false,"model":"real/\"m\""}`},
		{"never for a provider that refuses it", config.MaxTokens{}, false, false,
			`{"stream":true,"model":"small"}`, `{"stream":true,"model":"real/\"m\""}`},
		{"the tenant's cache salt", config.MaxTokens{}, true, true,
			`{"model":"small"}`, `{"model":"real/\"m\"","cache_salt":"s"}`},
		{"a client's salt is taken into the tenant's", config.MaxTokens{}, true, true,
			`{"cache_salt":"mine","model":"small"}`, `{"cache_salt":"` + saltOf(salt, "mine") + `","model":"real/\"m\""}`},
		{"escaped keys are the keys they spell", config.MaxTokens{Cap: 10}, false, true,
			`{"mod\u0065l":"small","m\u0061x_tokens":11}`, `{"mod\u0065l":"real/\"m\"","m\u0061x_tokens":10}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := parseRequest(&chat, []byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.bound(test.limit); err != nil {
				t.Fatal(err)
			}
			tenant := ""
			if test.salted {
				tenant = salt
			}
			body, _, err := r.address(dress{model: `real/"m"`, salt: tenant, usage: test.usage})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	tests := map[string]string{
		``:                               "not a JSON object",
		`{`:                              "not a JSON object",
		`null`:                           "not a JSON object",
		`[]`:                             "not a JSON object",
		`"x"`:                            "not a JSON object",
		`{} {}`:                          "not a JSON object",
		`{}`:                             `"model" is missing`,
		`{"model":1}`:                    `"model" must be a string`,
		`{"model":""}`:                   `"model" must be a string`,
		`{"model":"a","model":"b"}`:      `field "model" appears twice`,
		`{"model":"a","mod\u0065l":"b"}`: `field "model" appears twice`,
		`{"model":"a","Model":"b"}`:      `field "model" appears twice`,
		`{"model":"a","Max_Tokens":1}`:   `field "Max_Tokens" must be written "max_tokens"`,
		`{"model":"a","stream":1}`:       `"stream" must be true or false`,
		`{"model":"a","max_tokens":0}`:   `"max_tokens" must be a whole number from 1`,
		`{"model":"a","max_tokens":-5}`:  `"max_tokens" must be a whole number from 1`,
		`{"model":"a","max_completion_tokens":1.5}`:                                        `"max_completion_tokens" must be a whole number from 1`,
		`{"model":"a","max_tokens":"9"}`:                                                   `"max_tokens" must be a whole number from 1`,
		`{"model":"a","n":129}`:                                                            `"n" must be at most 128`,
		`{"model":"a","stream_options":[]}`:                                                `"stream_options" must be an object`,
		`{"model":"a","stream_options":{"include_usage":1}}`:                               `"stream_options.include_usage" must be true or false`,
		`{"model":"a","stream_options":{"include_usage":false,"include\u005fusage":true}}`: `field "stream_options.include_usage" appears twice`,
		`{"model":"a","stream":true,"stream_options":{"INCLUDE_USAGE":true}}`:              `field "stream_options.INCLUDE_USAGE" must be written "stream_options.include_usage"`,
		`{"model":"a","stream_options":{"include_usage":false,"Include_usage":true}}`:      `field "stream_options.include_usage" appears twice`,
		`{"model":"a","x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`:  "nested more than 500 levels",
		strings.Repeat(`{"a":`, 1<<20):                                                     "nested more than 500 levels",
	}
	for body, want := range tests {
		_, err := parseRequest(&chat, []byte(body))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error %v, want %q", body, err, want)
		}
	}
}

func TestBracketsInStringsAreNoDepth(t *testing.T) {
	body := `{"model":"a","x":"\\\"` + strings.Repeat("[", 1000) + `"}`
	if _, err := parseRequest(&chat, []byte(body)); err != nil {
		t.Error(err)
	}
}

func TestAsk(t *testing.T) {
	tests := []struct {
		name  string
		body  string
		limit config.MaxTokens
		want  limit.Ask
	}{
		{"text of messages", `{"model":"a","max_tokens":10,"messages":[{"role":"user","content":"12345678"},{"role":"user","content":[{"type":"text","text":"1234"}]}]}`,
			config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 10}}},
		{"an inlined image is not its bytes", `{"model":"a","max_tokens":10,"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:` + strings.Repeat("A", 10000) + `"}}]}]}`,
			config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: imageTokens, Output: 10}}},
		{"a prompt", `{"model":"a","max_tokens":10,"prompt":"12345"}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 2, Output: 10}}},
		{"token ids are one prompt", `{"model":"a","max_tokens":10,"prompt":[1,2,3]}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 10}}},
		{"several prompts and choices", `{"model":"a","max_tokens":10,"n":2,"prompt":["1234","1234","1234"]}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 60}}},
		{"several prompts of ids", `{"model":"a","max_tokens":10,"prompt":[[1,2],[3]]}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 20}}},
		{"tools", `{"model":"a","max_tokens":10,"tools":[{"a":"b"}]}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 10}}},
		{"images with empty texts beside them are images", `{"model":"a","max_tokens":10,"messages":[{"content":[` + strings.Repeat(`{"type":"image_url","text":"","image_url":{"url":"x"}},`, 49) + `{"text":"","image_url":{"url":"x"}}]}]}`,
			config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 50 * imageTokens, Output: 10}}},
		{"sound by its length", `{"model":"a","max_tokens":10,"messages":[{"content":[{"type":"input_audio","text":"","input_audio":{"data":"` + strings.Repeat("A", 2<<20) + `"}}]}]}`,
			config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 1024, Output: 10}}},
		{"parts of several texts", `{"model":"a","max_tokens":10,"messages":[{"content":["1234",{"type":"thinking","thinking":"1234"},{"type":"tool_result","content":[{"type":"text","text":"1234"}]}]}]}`,
			config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 10}}},
		{"thoughts and refusals that go back", `{"model":"a","max_tokens":10,"messages":[{"role":"assistant","content":"","reasoning_content":"12345678","refusal":"1234"}]}`,
			config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 10}}},
		{"a schema", `{"model":"a","max_tokens":10,"response_format":{"type":"json_schema","json_schema":{"schema":{"x":"` + strings.Repeat("A", 4000) + `"}}}}`,
			config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 1014, Output: 10}}},
		{"no schema", `{"model":"a","max_tokens":10,"response_format":{"type":"json_object"}}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Output: 10}}},
		{"documents", `{"model":"a","max_tokens":10,"documents":["` + strings.Repeat("A", 3996) + `"]}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 1000, Output: 10}}},
		{"a field that nobody knows", `{"model":"a","max_tokens":10,"x_future":"` + strings.Repeat("A", 15998) + `"}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 1000, Output: 10}}},
		{"a field that is in no prompt", `{"model":"a","max_tokens":10,"user":"` + strings.Repeat("A", 16000) + `"}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Output: 10}}},
		{"ids and texts are several prompts", `{"model":"a","max_tokens":10,"prompt":[1,"1234"]}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 2, Output: 20}}},
		{"ids and lists are several prompts", `{"model":"a","max_tokens":10,"prompt":[1,[2],[3]]}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Input: 3, Output: 30}}},
		{"the larger of both names", `{"model":"a","max_completion_tokens":5,"max_tokens":10}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Output: 10}}},
		{"more answers than are given", `{"model":"a","max_tokens":10,"best_of":3}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Output: 30}}},
		{"a cap", `{"model":"a","max_tokens":10}`, config.MaxTokens{Cap: 7}, limit.Ask{Tokens: limit.Tokens{Output: 7}}},
		{"a default", `{"model":"a"}`, config.MaxTokens{Default: 7}, limit.Ask{Tokens: limit.Tokens{Output: 7}, Unbounded: true}},
		{"nothing at all", `{"model":"a"}`, config.MaxTokens{}, limit.Ask{Tokens: limit.Tokens{Output: assumedOutput}, Unbounded: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := parseRequest(&chat, []byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.bound(test.limit); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, r.ask(0)); diff != "" {
				t.Errorf("ask (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSaltsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, c := range [][2]string{{"a", ""}, {"b", ""}, {"a", "x"}, {"b", "x"}, {"ax", ""}, {"a", "b"}} {
		salt := combineSalt(tenantSalt(c[0]), gjson.Parse(`"`+c[1]+`"`))
		if other, ok := seen[salt]; ok {
			t.Errorf("%v and %s share a salt", c, other)
		}
		seen[salt] = c[0] + "," + c[1]
		if again := combineSalt(tenantSalt(c[0]), gjson.Parse(`"`+c[1]+`"`)); again != salt {
			t.Errorf("%v: salt is not stable", c)
		}
	}
}

// Whatever a body is, it is refused or stays valid JSON that says the same but
// for the fields that the gateway sets.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(streamBody))
	f.Add([]byte(plainBody))
	f.Add([]byte(`{"model":"a","max_tokens":5000,"stream":true,"stream_options":{"x":1},"cache_salt":"s","prompt":[[1]]}`))
	f.Add([]byte(`{"model":"a","model":"b"}`))
	f.Add([]byte(`{"model":"a","n_predict":5000,"min_tokens":3,"options":{"num_predict":1}}`))
	f.Add([]byte("{\"\\u006dodel\":\"a\", \"z\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRequest(&chat, body)
		if err != nil {
			return
		}
		if r.bound(config.MaxTokens{Default: 10, Cap: 100}) != nil {
			return
		}
		out, _, err := r.address(dress{model: "real", salt: "salt", usage: true})
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(body, &before) != nil {
			t.Skip("Go's reader is stricter about numbers")
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q became %q: %v", body, out, err)
		}
		for _, set := range slices.Concat(outputNames, []string{"model", "cache_salt", "stream_options"}) {
			delete(before, set)
			delete(after, set)
		}
		equal := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
		if !cmp.Equal(before, after, cmp.Comparer(equal)) {
			t.Fatalf("%q became %q", body, out)
		}
	})
}
