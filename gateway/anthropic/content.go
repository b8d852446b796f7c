package anthropic

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// Kinds of parts that a role's content may have.
var (
	textOnly        = []string{"text"}
	textAndImages   = []string{"text", "image_url"}
	textAndRefusals = []string{"text", "refusal"}
)

// contentBlocks translates a message's content: a string, null or a list of
// parts. Empty texts are left out, since the vendor refuses them.
func contentBlocks(content gjson.Result, kinds []string, at func() string) (blocks []byte, err *openai.Error) {
	switch {
	case content.Type == gjson.Null:
		return nil, nil
	case content.Type == gjson.String:
		if content.Str == "" {
			return nil, nil
		}
		return []byte(textBlock(content, gjson.Result{})), nil
	case !content.IsArray():
		return nil, invalid(at()+".content", `"content" must be a string or a list of parts`)
	}
	i := 0
	content.ForEach(func(_, part gjson.Result) bool {
		blocks, err = appendPart(blocks, part, kinds, path("%s.content[%d]", at(), i))
		i++
		return err == nil
	})
	return blocks, err
}

func appendPart(blocks []byte, part gjson.Result, kinds []string, at func() string) ([]byte, *openai.Error) {
	kind := part.Get("type").Str
	if !slices.Contains(kinds, kind) {
		return nil, unsupported(at()+".type", "the model's provider takes no content of type "+brief(kind)+" here, only "+strings.Join(kinds, " and "))
	}
	if kind == "image_url" {
		source, err := imageSource(part.Get("image_url"), at)
		if err != nil {
			return nil, err
		}
		return appendItem(blocks, `{"type":"image","source":`+source+cacheControl(part)+`}`), nil
	}
	text := part.Get(kind)
	if text.Type != gjson.String {
		return nil, invalid(at(), `"`+kind+`" must be a string`)
	}
	if text.Str == "" {
		return blocks, nil
	}
	return appendItem(blocks, textBlock(text, part)), nil
}

// textBlock takes the text as the client wrote it, with its escapes.
func textBlock(text, part gjson.Result) string {
	return `{"type":"text","text":` + text.Raw + cacheControl(part) + `}`
}

// cacheControl is a mark for the vendor's prompt cache, which clients that know
// it put on parts and tools.
func cacheControl(v gjson.Result) string {
	if mark := v.Get("cache_control"); mark.IsObject() {
		return `,"cache_control":` + mark.Raw
	}
	return ""
}

// imageTypes are what the vendor reads.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func imageSource(image gjson.Result, at func() string) (string, *openai.Error) {
	link := image.Get("url")
	if image.Type == gjson.String { // a shape that some clients send
		link = image
	}
	if link.Type != gjson.String {
		return "", invalid(at(), `"image_url.url" must be a string`)
	}
	head, data, isData := strings.Cut(link.Str, ",")
	if !strings.HasPrefix(head, "data:") {
		if !strings.HasPrefix(link.Str, "https://") && !strings.HasPrefix(link.Str, "http://") {
			return "", invalid(at(), `"image_url.url" must be a data:, https: or http: URL`)
		}
		return `{"type":"url","url":` + link.Raw + `}`, nil
	}
	kind, ok := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
	switch {
	case !isData || !ok || !isBase64(data):
		return "", invalid(at(), `a data: URL must be base64, like data:image/png;base64,…`)
	case !slices.Contains(imageTypes, kind):
		return "", unsupported(at(), "the model's provider takes images as "+strings.Join(imageTypes, ", ")+", not "+brief(kind))
	}
	return `{"type":"base64","media_type":"` + kind + `","data":"` + data + `"}`, nil
}

// isBase64 tells whether text has base64's characters only, none of which needs
// an escape in JSON.
func isBase64(text string) bool {
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return text != ""
}
