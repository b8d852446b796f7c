package client

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"github.com/llmctl/llmctl/internal/openai"
)

// mediaType is a content type without its parameters.
func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return kind
}

// errorText is what an error page says, in one line: the message of an error
// object, the title of an HTML page, else its text, else the status.
func errorText(status int, kind string, body []byte) string {
	var chunk openai.Chunk
	if chunk.Parse(body) == nil {
		if message := chunk.ErrorMessage(); message != "" {
			return message
		}
	}
	if looksLikeHTML(body) || kind == "text/html" {
		return "an HTML page" + htmlTitle(body)
	}
	if text := strings.TrimSpace(string(body[:min(len(body), maxDetail)])); text != "" {
		return text
	}
	return http.StatusText(status)
}

func looksLikeHTML(body []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 64)]))
	return bytes.HasPrefix(start, []byte("<!doctype")) || bytes.HasPrefix(start, []byte("<html"))
}

// htmlTitle is the title of a page in quotes after a space, empty when it has
// none.
func htmlTitle(page []byte) string {
	lower := bytes.ToLower(page)
	from := bytes.Index(lower, []byte("<title>"))
	to := bytes.Index(lower, []byte("</title>"))
	if from < 0 || to < from || len(lower) != len(page) {
		return ""
	}
	return ` "` + strings.TrimSpace(string(page[from+len("<title>"):to])) + `"`
}
