package cache

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// Stream returns the data of the events of the answer, without [DONE]. With
// usage, the last of them tells it, as include_usage asks for, when the server
// told it at the time. A whole answer becomes two chunks per choice: its
// message, and its finish reason.
func (a *Answer) Stream(usage bool) [][]byte {
	if !a.Streamed() {
		return split(a.Whole, usage)
	}
	events := make([][]byte, 0, len(a.Events))
	for _, e := range a.Events {
		if usage || !usageOnly(e) {
			events = append(events, e)
		}
	}
	return events
}

// usageOnly tells the chunk that include_usage adds.
func usageOnly(event []byte) bool {
	r := gjson.GetManyBytes(event, "usage", "choices.0")
	return r[0].IsObject() && !r[1].Exists()
}

// split turns a whole answer into chunks.
func split(document []byte, usage bool) [][]byte {
	var head fields
	root := gjson.ParseBytes(document)
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices", "usage":
		case "object":
			object := value.Raw
			if value.Str == "chat.completion" {
				object = `"chat.completion.chunk"`
			}
			head.set("object", []byte(object))
		default:
			head.set(key.Str, []byte(value.Raw))
		}
		return true
	})
	var events [][]byte
	chunk := func(choices, usageRaw []byte) {
		f := fields{names: append([]string(nil), head.names...), values: map[string][]byte{}}
		for name, raw := range head.values {
			f.values[name] = raw
		}
		f.set("choices", choices)
		if usage {
			f.set("usage", usageRaw)
		}
		events = append(events, f.encode())
	}
	root.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		first, last := splitChoice(choice)
		chunk(append(append([]byte{'['}, first...), ']'), []byte("null"))
		chunk(append(append([]byte{'['}, last...), ']'), []byte("null"))
		return true
	})
	if told := root.Get("usage"); usage && told.IsObject() {
		chunk([]byte("[]"), []byte(told.Raw))
	}
	return events
}

// splitChoice parts a choice into what was said and how it ended.
func splitChoice(choice gjson.Result) (first, last []byte) {
	var said, ended fields
	choice.ForEach(func(key, value gjson.Result) bool {
		raw := []byte(value.Raw)
		switch key.Str {
		case "index":
			said.set("index", raw)
			ended.set("index", raw)
		case "message":
			said.set("delta", delta(value))
			ended.set("delta", []byte("{}"))
		case "text":
			said.set("text", raw)
			ended.set("text", []byte(`""`))
		case "logprobs":
			said.set("logprobs", raw)
			ended.set("logprobs", []byte("null"))
		case "finish_reason":
			said.set("finish_reason", []byte("null"))
			ended.set("finish_reason", raw)
		default:
			ended.set(key.Str, raw)
		}
		return true
	})
	return said.encode(), ended.encode()
}

// delta is a message as one piece: its tool calls get the index that pieces have.
func delta(message gjson.Result) []byte {
	var f fields
	message.ForEach(func(key, value gjson.Result) bool {
		if key.Str != "tool_calls" || !value.IsArray() {
			f.set(key.Str, []byte(value.Raw))
			return true
		}
		out, n := []byte{'['}, 0
		value.ForEach(func(_, call gjson.Result) bool {
			if n > 0 {
				out = append(out, ',')
			}
			indexed := fields{}
			indexed.set("index", strconv.AppendInt(nil, int64(n), 10))
			call.ForEach(func(key, value gjson.Result) bool {
				indexed.set(key.Str, []byte(value.Raw))
				return true
			})
			out = append(out, indexed.encode()...)
			n++
			return true
		})
		f.set(key.Str, append(out, ']'))
		return true
	})
	return f.encode()
}
