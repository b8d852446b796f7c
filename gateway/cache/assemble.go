package cache

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Document returns the answer as one JSON document. That of a stream is put
// together from its events; ok is false when they hold something that this
// package does not know how to join, since a wrong answer is worse than none.
func (a *Answer) Document() (document []byte, ok bool) {
	if !a.Streamed() {
		return a.Whole, true
	}
	return assemble(a.Events)
}

// fields is a JSON object in the order in which its keys came first.
type fields struct {
	names  []string
	values map[string][]byte
}

func (f *fields) set(name string, raw []byte) {
	if f.values == nil {
		f.values = map[string][]byte{}
	}
	if _, ok := f.values[name]; !ok {
		f.names = append(f.names, name)
	}
	f.values[name] = raw
}

func (f *fields) encode() []byte {
	out := []byte{'{'}
	for i, name := range f.names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(gjson.AppendJSONString(out, name), ':')
		out = append(out, f.values[name]...)
	}
	return append(out, '}')
}

// merge joins a piece of a value to what came before it: texts are put end to
// end, lists of pieces by their index, and whatever else must not change.
func merge(old, piece gjson.Result, name string) (raw []byte, ok bool) {
	switch {
	case piece.Type == gjson.Null:
		return []byte(old.Raw), old.Raw != ""
	case old.Raw == "" || old.Type == gjson.Null:
		if piece.IsArray() && name == "tool_calls" {
			return mergeCalls(gjson.Result{}, piece)
		}
		return []byte(piece.Raw), true
	case piece.Type == gjson.String && old.Type == gjson.String:
		if slices.Contains(constant, name) {
			return []byte(old.Raw), piece.Str == old.Str || piece.Str == ""
		}
		return appendString(nil, old.Str+piece.Str), true
	case name == "tool_calls" && piece.IsArray():
		return mergeCalls(old, piece)
	case piece.IsArray() && old.IsArray():
		return joinLists(old.Raw, piece.Raw), true
	case piece.IsObject() && old.IsObject():
		return mergeObjects(old, piece)
	}
	return []byte(old.Raw), old.Raw == piece.Raw
}

// constant are the texts that are repeated, not continued.
var constant = []string{"role", "id", "type", "name"}

func mergeObjects(old, piece gjson.Result) ([]byte, bool) {
	var f fields
	old.ForEach(func(key, value gjson.Result) bool {
		f.set(key.Str, []byte(value.Raw))
		return true
	})
	good := true
	piece.ForEach(func(key, value gjson.Result) bool {
		raw, ok := merge(gjson.ParseBytes(f.values[key.Str]), value, key.Str)
		switch {
		case ok:
			f.set(key.Str, raw)
		case value.Type != gjson.Null:
			good = false
		}
		return good
	})
	return f.encode(), good
}

// mergeCalls joins pieces of tool calls, which name the call they belong to by
// index. The whole form has no index.
func mergeCalls(old, pieces gjson.Result) ([]byte, bool) {
	var calls []string
	old.ForEach(func(_, call gjson.Result) bool {
		calls = append(calls, call.Raw)
		return true
	})
	good := true
	pieces.ForEach(func(_, piece gjson.Result) bool {
		i := int(piece.Get("index").Int())
		if i < 0 || i > len(calls) || !piece.IsObject() {
			good = false
			return false
		}
		if i == len(calls) {
			calls = append(calls, "{}")
		}
		var rest fields
		piece.ForEach(func(key, value gjson.Result) bool {
			if key.Str != "index" {
				rest.set(key.Str, []byte(value.Raw))
			}
			return true
		})
		var raw []byte
		raw, good = mergeObjects(gjson.Parse(calls[i]), gjson.ParseBytes(rest.encode()))
		calls[i] = string(raw)
		return good
	})
	return []byte("[" + strings.Join(calls, ",") + "]"), good
}

func joinLists(a, b string) []byte {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	inner := strings.TrimSpace(b[1 : len(b)-1])
	head := strings.TrimSpace(a[:len(a)-1])
	switch {
	case inner == "":
		return []byte(a)
	case head == "[":
		return []byte(b)
	}
	return []byte(head + "," + inner + "]")
}

// gathered is one choice on its way from chunks to a whole.
type gathered struct {
	index int64
	body  gjson.Result // message, of a chat
	rest  fields       // text, finish_reason and whatever else stands in the choice
}

// assemble puts the chunks of a stream together.
func assemble(events [][]byte) ([]byte, bool) {
	var top fields
	var choices []*gathered
	usage, chat, good := []byte("null"), false, true
	for _, event := range events {
		gjson.ParseBytes(event).ForEach(func(key, value gjson.Result) bool {
			switch key.Str {
			case "choices":
				value.ForEach(func(_, choice gjson.Result) bool {
					chat = chat || choice.Get("delta").Exists()
					choices, good = gather(choices, choice)
					return good
				})
			case "usage":
				if value.IsObject() {
					usage = []byte(value.Raw)
				}
			case "obfuscation": // padding of the stream alone
			default:
				if _, seen := top.values[key.Str]; !seen && value.Type != gjson.Null {
					top.set(key.Str, []byte(value.Raw))
				}
			}
			return good
		})
		if !good {
			return nil, false
		}
	}
	if chat {
		top.set("object", []byte(`"chat.completion"`))
	}
	slices.SortFunc(choices, func(a, b *gathered) int { return int(a.index - b.index) })
	top.set("choices", encodeChoices(choices, chat))
	if !bytes.Equal(usage, []byte("null")) {
		top.set("usage", usage)
	}
	return top.encode(), true
}

func gather(choices []*gathered, choice gjson.Result) ([]*gathered, bool) {
	index := choice.Get("index").Int()
	at := slices.IndexFunc(choices, func(g *gathered) bool { return g.index == index })
	if at < 0 {
		at = len(choices)
		choices = append(choices, &gathered{index: index})
	}
	g, good := choices[at], true
	choice.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "index":
		case "delta":
			if g.body.Raw == "" {
				g.body = gjson.Parse("{}")
			}
			raw, ok := mergeObjects(g.body, value)
			g.body, good = gjson.ParseBytes(raw), ok
		default:
			raw, ok := merge(gjson.ParseBytes(g.rest.values[key.Str]), value, key.Str)
			switch {
			case ok:
				g.rest.set(key.Str, raw)
			case value.Type != gjson.Null:
				good = false
			}
		}
		return good
	})
	return choices, good
}

func encodeChoices(choices []*gathered, chat bool) []byte {
	out := []byte{'['}
	for i, g := range choices {
		if i > 0 {
			out = append(out, ',')
		}
		var f fields
		f.set("index", strconv.AppendInt(nil, g.index, 10))
		if chat {
			message := fields{}
			message.set("role", []byte(`"assistant"`))
			g.body.ForEach(func(key, value gjson.Result) bool {
				message.set(key.Str, []byte(value.Raw))
				return true
			})
			if _, ok := message.values["content"]; !ok || calledOnly(g.body) {
				message.set("content", []byte("null"))
			}
			f.set("message", message.encode())
		}
		for _, name := range g.rest.names {
			f.set(name, g.rest.values[name])
		}
		out = append(out, f.encode()...)
	}
	return append(out, ']')
}

// calledOnly tells a message of tool calls alone, whose content is null in the
// whole form, and an empty text in the first chunk of many servers.
func calledOnly(message gjson.Result) bool {
	return message.Get("tool_calls").Exists() && message.Get("content").Str == ""
}

// appendString appends s as a JSON string. It is encoding/json's form without
// escapes for HTML, so that text looks as engines write it.
func appendString(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always has a form
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
