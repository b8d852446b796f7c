package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/optional"
)

// view is what a test compares of a chunk.
type view struct {
	Done, Content, Reasoning, ToolCall, Embedding, Role, Failed bool
	Choices                                                     int
	Text, Thought, Finish, Error                                string
	Usage                                                       openai.Usage
}

func viewOf(c *openai.Chunk) view {
	return view{
		Done: c.Done, Content: c.Content, Reasoning: c.Reasoning, ToolCall: c.ToolCall, Embedding: c.Embedding, Role: c.Role, Failed: c.Failed,
		Choices: c.Choices,
		Text:    string(c.AppendText(nil)), Thought: string(c.AppendReasoning(nil)),
		Finish: c.FinishReason(), Error: c.ErrorMessage(),
		Usage: c.Usage,
	}
}

// parts is what a test compares of the choices and calls of a chunk.
type parts struct {
	Opened, Ended openai.Set
	Calls, Call   string // joined with |
}

func partsOf(c *openai.Chunk) parts {
	return parts{c.Opened, c.Ended, string(bytes.Join(c.ToolCalls(), []byte("|"))), string(c.Call())}
}

var chunks = []struct {
	name string
	data string
	want view
}{
	{"end marker", `[DONE]`, view{Done: true}},
	{"T66 end marker with spaces", " [DONE] ", view{Done: true}},
	{"content", c("a"), view{Choices: 1, Content: true, Text: "a"}},
	{"content with escapes", c(`\u00e9\n\"\ud83d\ude00`), view{Choices: 1, Content: true, Text: "é\n\"😀"}},
	{"T18 role with empty content", `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, view{Choices: 1, Role: true}},
	{"T19 role with null content", `{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}`, view{Choices: 1, Role: true}},
	{"T20 reasoning_content", `{"choices":[{"delta":{"reasoning_content":"x"}}]}`, view{Choices: 1, Reasoning: true, Thought: "x"}},
	{"T20 reasoning", `{"choices":[{"delta":{"reasoning":"x"}}]}`, view{Choices: 1, Reasoning: true, Thought: "x"}},
	{"T20 both names of reasoning", `{"choices":[{"delta":{"reasoning":"x","reasoning_content":"x"}}]}`, view{Choices: 1, Reasoning: true, Thought: "x"}},
	{"T22 tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, view{Choices: 1, ToolCall: true}},
	{"T22 null tool calls", `{"choices":[{"delta":{"tool_calls":null,"content":"a"}}]}`, view{Choices: 1, Content: true, Text: "a"}},
	{"empty tool calls", `{"choices":[{"delta":{"tool_calls":[ ],"function_call":{}}}]}`, view{Choices: 1}},
	{"function call", `{"choices":[{"delta":{"function_call":{"name":"f"}}}]}`, view{Choices: 1, ToolCall: true}},
	{"refusal", `{"choices":[{"delta":{"refusal":"no"}}]}`, view{Choices: 1, Content: true, Text: "no"}},
	{"content of parts", `{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`, view{Choices: 1, Content: true, Text: "ab"}},
	{"content of an empty part", `{"choices":[{"delta":{"content":[{"type":"text","text":""}]}}]}`, view{Choices: 1}},
	{"content of a part without text", `{"choices":[{"delta":{"content":[{"type":"image_url","image_url":{"url":"x"}},{}]}}]}`, view{Choices: 1, Content: true}},
	{"content of plain strings", `{"choices":[{"delta":{"content":["a",null,"b"]}}]}`, view{Choices: 1, Content: true, Text: "ab"}},
	{"thinking is not visible", `{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}`, view{Choices: 1, Reasoning: true, Thought: "hm"}},
	{"thinking, then text", `{"choices":[{"delta":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}}]}`,
		view{Choices: 1, Reasoning: true, Content: true, Thought: "hm", Text: "a"}},
	{"two choices of index 0", `{"choices":[{"index":0,"delta":{"content":"a","reasoning":"x"}},{"index":0,"delta":{"content":"b","reasoning":"y"}}]}`,
		view{Choices: 2, Content: true, Reasoning: true, Text: "ab", Thought: "xy"}},
	{"two forms of one part", `{"choices":[{"index":0,"delta":{"content":"a"},"message":{"content":"b"}}]}`, view{Choices: 1, Content: true, Text: "b"}},
	{"completions text of another index", `{"choices":[{"index":1,"text":"b"},{"index":0,"text":"a"}]}`, view{Choices: 2, Content: true, Text: "a"}},
	{"null delta", `{"choices":[{"delta":null,"finish_reason":"stop"}]}`, view{Choices: 1, Finish: "stop"}},
	{"null choices", `{"choices":null}`, view{}},
	{"T27 usage without choices", `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":24,"total_tokens":31}}`,
		view{Usage: openai.Usage{Prompt: optional.Counted(7), Completion: optional.Counted(24), Total: optional.Counted(31)}}},
	{"T30 usage details", `{"usage":{"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":60}}}`,
		view{Usage: openai.Usage{Completion: optional.Counted(100), Cached: optional.Counted(0), Reasoning: optional.Counted(60)}}},
	{"negative count", `{"usage":{"prompt_tokens":7,"completion_tokens":-1}}`, view{Usage: openai.Usage{Prompt: optional.Counted(7), Implausible: true}}},
	{"counts as floats", `{"usage":{"prompt_tokens":17.0,"completion_tokens":1.7e1,"total_tokens":34.00}}`,
		view{Usage: openai.Usage{Prompt: optional.Counted(17), Completion: optional.Counted(17), Total: optional.Counted(34)}}},
	{"fraction of a token", `{"usage":{"prompt_tokens":7,"completion_tokens":1.5}}`, view{Usage: openai.Usage{Prompt: optional.Counted(7), Implausible: true}}},
	{"largest count", `{"usage":{"prompt_tokens":134217728}}`, view{Usage: openai.Usage{Prompt: optional.Counted(1 << 27)}}},
	{"count beyond any", `{"usage":{"prompt_tokens":134217729,"prompt_tokens_details":{"cached_tokens":3}}}`,
		view{Usage: openai.Usage{Cached: optional.Counted(3), Implausible: true}}},
	{"count of a type that is none", `{"usage":{"prompt_tokens":"7","completion_tokens":null}}`, view{}},
	{"negative index is no usage", `{"choices":[{"index":-1}],"usage":{"prompt_tokens":7}}`, view{Choices: 1, Usage: openai.Usage{Prompt: optional.Counted(7)}}},
	{"usage that does not count", `{"usage":{"prompt_tokens":-1,"completion_tokens":1.5,"total_tokens":"7","prompt_tokens_details":null}}`, view{Usage: openai.Usage{Implausible: true}}},
	{"null usage", `{"choices":[],"usage":null}`, view{}},
	{"completions text", `{"choices":[{"index":0,"text":"hi","finish_reason":"length"}]}`, view{Choices: 1, Content: true, Text: "hi", Finish: "length"}},
	{"not streamed", `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`,
		view{Choices: 1, Role: true, Content: true, Text: "hi", Finish: "stop"}},
	{"second choice", `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, view{Choices: 1, Content: true}},
	{"T34 error object", `{"error":{"message":"out of \"memory\"","type":"server_error","code":500}}`, view{Failed: true, Error: `out of "memory"`}},
	{"error string", `{"error":"boom"}`, view{Failed: true, Error: "boom"}},
	{"error true", `{"error":true}`, view{Failed: true}},
	{"error without message", `{"error":{"type":"overloaded"}}`, view{Failed: true, Error: "overloaded"}},
	{"flat error", `{"object":"error","message":"bad model","code":404}`, view{Failed: true, Error: "bad model"}},
	{"T34 detail of FastAPI", `{"detail":"Not Found"}`, view{Failed: true, Error: "Not Found"}},
	{"T34 detail of an invalid request", `{"detail":[{"loc":["body"],"message":"field required"}]}`, view{Failed: true, Error: "field required"}},
	{"T34 detail beside choices", `{"detail":"fast","choices":[{"delta":{"content":"a"}}]}`, view{Choices: 1, Content: true, Text: "a", Error: "fast"}},
	{"T34 empty detail", `{"detail":""}`, view{}},
	{"T34 code and message", `{"code":500,"message":"boom"}`, view{Failed: true, Error: "boom"}},
	{"T34 code 0", `{"code":0,"message":"fine"}`, view{Error: "fine"}},
	{"T34 error number", `{"error":500}`, view{Failed: true}},
	{"T34 error 0 and false", `{"error":0,"errors":false}`, view{}},
	{"T34 list of errors", `{"errors":[{"message":"m"},{"message":"n"}]}`, view{Failed: true, Error: "m"}},
	{"T34 empty list of errors", `{"errors":[]}`, view{}},
	{"T34 error of a choice", `{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"upstream"}}]}`,
		view{Choices: 1, Finish: "error", Failed: true, Error: "upstream"}},
	{"T34 null error of a choice", `{"choices":[{"delta":{"content":"a"},"error":null}]}`, view{Choices: 1, Content: true, Text: "a"}},
	{"T34 finish_reason error", `{"choices":[{"delta":{},"finish_reason":"error"}]}`, view{Choices: 1, Finish: "error", Failed: true, Error: "finish_reason error"}},
	{"T34 finish_reason abort", `{"choices":[{"text":"a","finish_reason":"abort"}]}`, view{Choices: 1, Content: true, Text: "a", Finish: "abort", Failed: true, Error: "finish_reason abort"}},
	{"T34 finish_reason cancelled", `{"choices":[{"delta":{},"finish_reason":"cancelled"}]}`, view{Choices: 1, Finish: "cancelled", Failed: true, Error: "finish_reason cancelled"}},
	{"finish_reason content_filter is an answer", `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, view{Choices: 1, Finish: "content_filter"}},
	{"T34 null error", `{"error":null}`, view{}},
	{"T34 empty error", `{"error":""}`, view{}},
	{"T34 empty error object", `{"error":{ }}`, view{}},
	{"escaped key", `{"choi\u0063es":[{"delta":{"content":"a"}}]}`, view{Choices: 1, Content: true, Text: "a"}},
	{"last of two keys counts", `{"choices":[{"delta":{"content":"a"}}],"choices":[]}`, view{}},
	{"line separators inside text", c("a\u2028b\u2029c\u0085"), view{Choices: 1, Content: true, Text: "a\u2028b\u2029c\u0085"}},
	{"wrong types", `{"choices":{"a":1},"usage":[1],"object":3}`, view{}},
	{"wrong types inside", `{"choices":[1,[],{"delta":"x","text":4,"finish_reason":{},"index":"0"}]}`, view{Choices: 3}},
	{"empty object", ` {} `, view{}},
	{"embeddings", `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-0.2]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`,
		view{Embedding: true, Usage: openai.Usage{Prompt: optional.Counted(8), Total: optional.Counted(8)}}},
	{"embeddings in base64", `{"data":[{"embedding":"AAAA"}]}`, view{Embedding: true}},
	{"no embeddings", `{"object":"list","data":[]}`, view{}},
	{"list without embeddings", `{"data":[{"id":"m"},{"embedding":[]},{"embedding":""},7]}`, view{}},
	{"data that is no list", `{"data":null,"choices":[{"delta":{"content":"a"}}]}`, view{Choices: 1, Content: true, Text: "a"}},

	{"responses: created", `{"type":"response.created","sequence_number":0,"response":{"status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}}`, view{}},
	{"responses: text", `{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"a\u00e9"}`, view{Content: true, Text: "aé"}},
	{"responses: text, type last", `{"delta":"a","type":"response.output_text.delta"}`, view{Content: true, Text: "a"}},
	{"responses: empty text", `{"type":"response.output_text.delta","delta":""}`, view{}},
	{"responses: refusal", `{"type":"response.refusal.delta","delta":"no"}`, view{Content: true, Text: "no"}},
	{"responses: reasoning", `{"type":"response.reasoning_text.delta","delta":"x"}`, view{Reasoning: true, Thought: "x"}},
	{"responses: summary of reasoning", `{"type":"response.reasoning_summary_text.delta","delta":"x"}`, view{Reasoning: true, Thought: "x"}},
	{"responses: call begins", `{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c1","name":"search","arguments":""}}`, view{ToolCall: true}},
	{"responses: message begins", `{"type":"response.output_item.added","item":{"type":"message","role":"assistant","content":[]}}`, view{}},
	{"responses: arguments", `{"type":"response.function_call_arguments.delta","delta":"{"}`, view{ToolCall: true}},
	{"responses: part repeated in whole", `{"type":"response.output_text.done","text":"all of it"}`, view{}},
	{"responses: item repeated in whole", `{"type":"response.output_item.done","item":{"type":"function_call","name":"search","arguments":"{}"}}`, view{}},
	{"responses: completed", `{"type":"response.completed","response":{"status":"completed","error":null,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":100,"output_tokens_details":{"reasoning_tokens":60},"total_tokens":109}}}`,
		view{Finish: "completed", Usage: openai.Usage{Prompt: optional.Counted(9), Cached: optional.Counted(4), Completion: optional.Counted(100), Reasoning: optional.Counted(60), Total: optional.Counted(109)}}},
	{"responses: completed without a status", `{"type":"response.completed","response":null}`, view{Finish: "completed"}},
	{"responses: incomplete", `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"output_tokens":7}}}`,
		view{Finish: "max_output_tokens", Usage: openai.Usage{Completion: optional.Counted(7)}}},
	{"responses: incomplete without a reason", `{"type":"response.incomplete","response":{"status":"incomplete"}}`, view{Finish: "incomplete"}},
	{"responses: failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"out of memory"}}}`, view{Failed: true, Error: "out of memory"}},
	{"responses: completed, but failed", `{"type":"response.completed","response":{"status":"failed","error":{"message":"m"}}}`, view{Finish: "failed", Failed: true, Error: "m"}},
	{"responses: completed with an error", `{"type":"response.completed","response":{"status":"completed","error":{"message":"m"}}}`, view{Finish: "completed", Failed: true, Error: "m"}},
	{"responses: cancelled", `{"type":"response.cancelled","response":{"status":"cancelled"}}`, view{Failed: true}},
	{"responses: error", `{"type":"error","code":"rate_limit_exceeded","message":"too fast","param":null}`, view{Failed: true, Error: "too fast"}},
	{"delta that is no text", `{"type":"content_block_delta","delta":{"text":"a"}}`, view{}},
}

// TestParts: of which choices a chunk tells, and the calls it holds.
func TestParts(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       parts
	}{
		{"two choices", `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null},{"index":2,"delta":{},"finish_reason":"stop"}]}`, parts{Opened: 1, Ended: 4}},
		{"output and its end", `{"choices":[{"index":1,"text":"a","finish_reason":"stop"}]}`, parts{Opened: 2, Ended: 2}},
		{"role", `{"choices":[{"index":3,"delta":{"role":"assistant"}}]}`, parts{}},
		{"choices beyond the set", `{"choices":[{"index":64,"text":"a"},{"index":900,"text":"a"}]}`, parts{Opened: 1 << 63}},
		{"calls of two choices of index 0", `{"choices":[{"delta":{"tool_calls":[1]}},{"delta":{"tool_calls":[2]}},{"index":1,"delta":{"tool_calls":[3]}}]}`,
			parts{Opened: 3, Calls: "[1]|[2]"}},
		{"text of a response", `{"type":"response.output_text.delta","delta":"a"}`, parts{Opened: 1}},
		{"end of a response", `{"type":"response.completed","response":{}}`, parts{Ended: 1}},
		{"call of a response", `{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`,
			parts{Call: `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`}},
		{"message of a response", `{"type":"response.output_item.done","item":{"type":"message","content":[]}}`, parts{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got openai.Chunk
			for range 2 { // a chunk is used again
				if err := got.Parse([]byte(tt.data)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, partsOf(&got)); diff != "" {
					t.Errorf("parts (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestChunk(t *testing.T) {
	for _, tt := range chunks {
		t.Run(tt.name, func(t *testing.T) {
			var got openai.Chunk
			if err := got.Parse([]byte(tt.data)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, viewOf(&got)); diff != "" {
				t.Errorf("chunk (-want +got):\n%s", diff)
			}
		})
	}
}

var notChunks = []string{
	"", " ", "x", `"a"`, "[1]", "1", "null", `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a":1}}`, `{,}`, `{1:2}`, `{"a" 1}`,
	`{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":.5}`, `{"a":tru}`, `{"a":nul}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}",
	`{"choices":[{]}`, `{"choices":[1 2]}`, `{"choices":[1,]}`, `{"usage":{"prompt_tokens":}}`, `{"error":{"message":}}`, "{} [DONE]", "[DONE",
	`{"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`,
}

func TestNotChunk(t *testing.T) {
	for _, data := range notChunks {
		var got openai.Chunk
		if err := got.Parse([]byte(data)); !errors.Is(err, openai.ErrNotChunk) {
			t.Errorf("Parse(%.60q) = %v", data, err)
		}
	}
	deep := `{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`
	if err := new(openai.Chunk).Parse([]byte(deep)); err != nil {
		t.Errorf("10,000 levels: %v", err)
	}
}

// misfits are chunks in each of which one member holds a value of a type that
// it should not have.
func misfits() (chunks []string) {
	var places []string
	for path, names := range map[string]string{
		`{%}`:                         "choices usage error object message detail data type delta item response code errors",
		`{"choices":[{%}]}`:           "delta message text finish_reason index error",
		`{"choices":[{"delta":{%}}]}`: "content refusal reasoning_content reasoning tool_calls function_call role",
		`{"choices":[{"delta":{"content":[{%}]}}]}`: "type text thinking",
		`{"usage":{%}}`: "prompt_tokens completion_tokens prompt_tokens_details input_tokens output_tokens_details",
		`{"error":{%}}`: "message type",
		`{"type":"response.completed","response":{%}}`:     "status incomplete_details usage error",
		`{"type":"response.output_item.added","item":{%}}`: "type name",
		`{"data":[{%}]}`: "embedding",
	} {
		for _, name := range strings.Fields(names) {
			places = append(places, strings.Replace(path, "%", `"`+name+`":%,"z":1`, 1))
		}
	}
	for _, place := range places {
		for _, value := range []string{"null", "true", "false", "0", "7", "-7", "7.0", "7.5", `""`, `"a"`, "[]", "[[]]", "[1]", `["a"]`, `[{"a":1}]`, "{}", `{"a":1}`} {
			chunks = append(chunks, strings.Replace(place, "%", value, 1))
		}
	}
	return chunks
}

// FuzzChunk compares Parse with encoding/json.
func FuzzChunk(f *testing.F) {
	for _, tt := range chunks {
		f.Add([]byte(tt.data))
	}
	for _, data := range notChunks {
		f.Add([]byte(data))
	}
	for _, data := range misfits() {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got openai.Chunk
		err := got.Parse(data)
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			return
		}
		var doc map[string]any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		valid := json.Valid(data) && decoder.Decode(&doc) == nil && doc != nil
		if valid != (err == nil) {
			t.Fatalf("encoding/json finds an object: %v, Parse: %v", valid, err)
		}
		if valid {
			got.Usage.Implausible = false // counts that are not the last of their name set it too
			if diff := cmp.Diff(reference(doc), viewOf(&got)); diff != "" {
				t.Errorf("chunk (-encoding/json +Parse):\n%s", diff)
			}
		}
	})
}

// reference reads a chunk from what encoding/json made of it.
func reference(doc map[string]any) (v view) {
	choices, _ := doc["choices"].([]any)
	var inChoice, inChoiceKind string
	v.Choices = len(choices)
	for _, choice := range choices {
		choice, _ := choice.(map[string]any)
		first := count(choice["index"]) == 0 || count(choice["index"]) == optional.Counted(0)
		var texts, thoughts string
		if text := str(choice["text"]); text != "" {
			v.Content = true
			if first {
				texts = text
			}
		}
		for _, name := range []string{"delta", "message"} {
			d, _ := choice[name].(map[string]any)
			text := or(str(d["content"]), str(d["refusal"]))
			thought := or(str(d["reasoning_content"]), str(d["reasoning"]))
			list, _ := d["content"].([]any)
			others := ofParts(list, &text, &thought)
			v.Content = v.Content || text != "" || others
			v.Reasoning = v.Reasoning || thought != ""
			v.ToolCall = v.ToolCall || filled(d["tool_calls"]) || filled(d["function_call"])
			v.Role = v.Role || str(d["role"]) != ""
			if first {
				texts, thoughts = or(text, texts), or(thought, thoughts)
			}
		}
		v.Text, v.Thought = v.Text+texts, v.Thought+thoughts
		v.Finish = or(str(choice["finish_reason"]), v.Finish)
		if f, m, k := failure(choice["error"]); f {
			v.Failed, inChoice, inChoiceKind = true, m, k
		}
	}
	v.Usage = usage(doc["usage"])
	data, _ := doc["data"].([]any)
	for _, item := range data {
		item, _ := item.(map[string]any)
		list, _ := item["embedding"].([]any)
		object, _ := item["embedding"].(map[string]any)
		v.Embedding = v.Embedding || len(list)+len(object) > 0 || str(item["embedding"]) != ""
	}
	failed, message, kind := failure(doc["error"])
	several, first, _ := failure(doc["errors"])
	detailed, detail, _ := failure(doc["detail"])
	coded, _, _ := failure(doc["code"])
	_, hasChoices := doc["choices"]
	flat := !hasChoices && str(doc["type"]) == "" && (detailed || coded && str(doc["message"]) != "")
	v.Failed = v.Failed || failed || several || flat || doc["object"] == "error" || failing[v.Finish]
	v.Error = or(or(or(message, str(doc["message"])), or(first, inChoice)), or(detail, or(kind, inChoiceKind)))
	typed(doc, &v)
	if v.Error == "" && failing[v.Finish] {
		v.Error = "finish_reason " + v.Finish
	}
	return v
}

var failing = map[string]bool{"error": true, "failed": true, "abort": true, "aborted": true, "cancelled": true, "canceled": true, "insufficient_system_resource": true}

// ofParts adds what a list of typed parts says; others reports parts that are no
// text.
func ofParts(list []any, text, thought *string) (others bool) {
	for _, item := range list {
		part, isObject := item.(map[string]any)
		if !isObject {
			*text += str(item)
			continue
		}
		thinking := str(part["thinking"])
		if several, ok := part["thinking"].([]any); ok {
			for _, t := range several {
				t, _ := t.(map[string]any)
				thinking = or(thinking, str(t["text"]))
			}
		}
		said := or(or(str(part["text"]), str(part["refusal"])), thinking)
		if kind := str(part["type"]); kind == "thinking" || kind == "reasoning" {
			*thought += said
			continue
		}
		*text += said
		_, hasText := part["text"]
		_, hasRefusal := part["refusal"]
		others = others || !hasText && !hasRefusal && len(part) > 0
	}
	return others
}

// failure is what the value of error says.
func failure(v any) (failed bool, message, kind string) {
	switch v := v.(type) {
	case string:
		return v != "", v, ""
	case bool:
		return v, "", ""
	case json.Number:
		return v != "0", "", ""
	case map[string]any:
		return len(v) > 0, str(v["message"]), str(v["type"])
	case []any:
		if len(v) > 0 {
			if _, nested := v[0].([]any); !nested {
				_, message, kind = failure(v[0])
			}
		}
		return len(v) > 0, message, kind
	}
	return false, "", ""
}

// typed is what the events of the Responses API say.
func typed(doc map[string]any, v *view) {
	response, _ := doc["response"].(map[string]any)
	details, _ := response["incomplete_details"].(map[string]any)
	item, _ := doc["item"].(map[string]any)
	delta := str(doc["delta"])
	switch kind := str(doc["type"]); kind {
	case "response.output_text.delta", "response.refusal.delta":
		v.Content, v.Text = delta != "", delta
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		v.Reasoning, v.Thought = delta != "", delta
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta",
		"response.mcp_call_arguments.delta", "response.code_interpreter_call_code.delta":
		v.ToolCall = delta != ""
	case "response.output_item.added":
		v.ToolCall = str(item["name"]) != "" && (item["type"] == "function_call" || item["type"] == "custom_tool_call")
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		v.Usage = usage(response["usage"])
		switch kind {
		case "response.completed":
			v.Finish = or(str(response["status"]), "completed")
		case "response.incomplete":
			v.Finish = or(or(str(details["reason"]), str(response["status"])), "incomplete")
		default:
			v.Failed = true
		}
		failed, message, kind := failure(response["error"])
		if v.Failed = v.Failed || failed || failing[str(response["status"])]; v.Failed {
			_, detail, _ := failure(doc["detail"])
			v.Error = or(or(message, detail), kind)
		}
	case "error":
		v.Failed = true
	}
}

func usage(v any) openai.Usage {
	u, _ := v.(map[string]any)
	part := func(names ...string) (n optional.Count) {
		for _, name := range names {
			details, inside, nested := strings.Cut(name, ".")
			value := u[name]
			if nested {
				object, _ := u[details].(map[string]any)
				value = object[inside]
			}
			if n = count(value); n.Known() {
				break
			}
		}
		return n
	}
	return openai.Usage{
		Prompt: part("prompt_tokens", "input_tokens"), Completion: part("completion_tokens", "output_tokens"), Total: part("total_tokens"),
		Cached:    part("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens"),
		Reasoning: part("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"),
	}
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func filled(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

func count(v any) optional.Count {
	number, _ := v.(json.Number)
	n, err := number.Float64()
	if err != nil || n > 1<<27 || n != math.Trunc(n) || strings.HasPrefix(number.String(), "-") {
		return 0
	}
	return optional.Counted(int(n))
}

func TestParseDoesNotAllocate(t *testing.T) {
	for _, data := range []string{c("token"),
		`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"token"}`,
		`{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":100}}}`} {
		var chunk openai.Chunk
		bytes := []byte(data)
		if n := testing.AllocsPerRun(100, func() { _ = chunk.Parse(bytes) }); n != 0 {
			t.Errorf("%v allocations for %s", n, data)
		}
	}
}

func BenchmarkChunk(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,` +
		`"model":"llama-3.1-8b","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}`)
	var chunk openai.Chunk
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := chunk.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
