package gateway

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// texts are the types of parts that are text and nothing else.
var texts = []string{"", "text", "input_text", "output_text", "refusal", "thinking", "reasoning", "reasoning_text", "summary_text",
	"message", "tool_use", "tool_result", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "item_reference"}

// isMedia tells whether parts, or items, of a type are more than text. Those of types
// that nobody here knows are.
func isMedia(kind string) bool {
	if slices.Contains(texts, kind) {
		return false
	}
	for _, word := range []string{"image", "audio", "video", "file", "document", "screenshot"} {
		if strings.Contains(kind, word) {
			return true
		}
	}
	return !strings.HasSuffix(kind, "_call") && !strings.HasSuffix(kind, "_call_output")
}

// payloads are the keys under which parts hold, or name, what is no text.
var payloads = []string{"image", "image_url", "input_audio", "audio", "audio_url", "video", "video_url", "file", "file_data", "file_id", "file_url", "source", "data", "result"}

// content reads a message's content: a string, or parts of it.
func (s *size) content(v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		s.bytes += len(v.Str)
	case v.IsObject():
		s.part(v)
	case v.IsArray():
		v.ForEach(func(_, part gjson.Result) bool {
			s.content(part)
			return true
		})
	case v.Type == gjson.Number:
		s.bytes += len(v.Raw)
	}
}

// part reads a part. It counts by its type and by what it holds, for engines differ in
// which of the two they heed: an empty text beside an image makes it no text.
func (s *size) part(v gjson.Result) {
	kind := v.Get("type").Str
	media, payload := isMedia(kind), 0
	image := strings.Contains(kind, "image") || strings.Contains(kind, "screenshot")
	v.ForEach(func(key, value gjson.Result) bool {
		switch {
		case key.Str == "type", key.Str == "id", key.Str == "cache_control", key.Str == "detail", key.Str == "filename":
		case slices.Contains(payloads, key.Str):
			media, image = true, image || strings.HasPrefix(key.Str, "image")
			payload += len(value.Raw)
		default:
			s.content(value)
		}
		return true
	})
	switch {
	case media && image:
		s.media += imageTokens
	case media:
		s.media += max(mediaTokens, payload/mediaPerToken)
	}
}
