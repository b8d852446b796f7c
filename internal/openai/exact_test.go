package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Only names as they are written in the API count, at every depth, and of those that
// come twice the last; what clients write below fields that we pass on stays as it is.
func TestKeysCountByTheirExactNames(t *testing.T) {
	for _, c := range []struct{ name, body, same string }{
		{"another case", `{"n":1,"N":3,"Stream":true,"TEMPERATURE":0}`, `{"n":1}`},
		{"another case first", `{"N":3,"n":1}`, `{"n":1}`},
		{"letters that fold to others", `{"\u212Aey":1,"\u017Ftop":"x","max_to\u212Aens":3}`, `{}`},
		{"an escape is the same name", `{"\u006e":2}`, `{"n":2}`},
		{"within objects", `{"stream_options":{"Include_Usage":true},"response_format":{"type":"text","Type":"json_object","json_schema":{"name":"a","Schema":{}}}}`,
			`{"stream_options":{},"response_format":{"type":"text","json_schema":{"name":"a"}}}`},
		{"within lists", `{"messages":[{"role":"user","Role":"system","content":"a","Content":"b","tool_calls":[{"ID":"x","function":{"name":"f","NAME":"g"}}]}]}`,
			`{"messages":[{"role":"user","content":"a","tool_calls":[{"function":{"name":"f"}}]}]}`},
		{"within parts", `{"messages":[{"role":"user","content":[{"type":"text","Text":"b","text":"a"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`},
		{"twice", `{"n":1,"stream_options":{"include_usage":true},"n":2,"stream_options":{}}`, `{"n":2,"stream_options":{}}`},
		{"what is passed on", `{"guided_json":{"properties":{"N":{},"n":{}}},"tools":[{"Type":"x"}],"logit_bias":{"5":1}}`,
			`{"guided_json":{"properties":{"N":{},"n":{}}},"tools":[{"Type":"x"}],"logit_bias":{"5":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, want ChatRequest
			if err := Unmarshal([]byte(c.body), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.same), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever is read is JSON to Unmarshal as it is to encoding/json.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"messages":[{"Role":"a"}],"n":1,"N":2,"n":3}`))
	f.Add([]byte(`[{"n":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		valid := json.Valid(data)
		var r ChatRequest
		_ = Unmarshal(data, &r)
		if json.Valid(data) != valid {
			t.Fatalf("became %q", data)
		}
	})
}
