package infer

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// IsPage reports whether a file that begins so is a metrics page: a comment, or
// a line of a metric with its value.
func IsPage(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if bytes.HasPrefix(line, []byte("# HELP ")) || bytes.HasPrefix(line, []byte("# TYPE ")) {
		return true
	}
	_, err := ParsePage(bytes.NewReader(append(bytes.Clone(bytes.TrimRight(line, "\r")), '\n')), epoch)
	return err == nil && len(line) > 0 && line[0] != '{' && line[0] != '['
}

// IsLog reports whether a file that begins so is a request log: of its first
// lines, as far as they are whole, one counts tokens, or tells of a request of
// llmctl's gateway.
func IsLog(head []byte) bool {
	for range 100 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if whole && !gjson.ValidBytes(line) || len(line) == 0 || line[0] != '{' {
			return false
		}
		var row logRow
		row.read(gjson.ParseBytes(line), 0)
		var q Request
		if row.tokens(&q) && (q.Input > 0 || q.Output > 0) || row.values[messageField].Str == "request" {
			return true
		}
		if !whole || len(rest) == 0 {
			return false
		}
		head = rest
	}
	return false
}
