package gateway

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"
)

// renamed returns the frame's bytes with another model's name, at path in its
// data; a frame without one stays as it is.
func (f frame) renamed(path, name string) []byte {
	data := renamed(f.event.Data, path, name)
	if at := bytes.Index(f.raw, f.event.Data); at >= 0 {
		return slices.Concat(f.raw[:at], data, f.raw[at+len(f.event.Data):])
	}
	// The data came on several lines; a JSON document has no need of that.
	var head []byte
	if len(f.event.Name) > 0 {
		head = slices.Concat([]byte("event: "), f.event.Name, []byte("\n"))
	}
	return slices.Concat(head, []byte("data: "), bytes.ReplaceAll(data, []byte("\n"), []byte(" ")), []byte("\n\n"))
}

// renamed returns a document with another model's name at path, where it has one.
func renamed(document []byte, path, name string) []byte {
	v := gjson.GetBytes(document, path)
	if v.Type != gjson.String || v.Index == 0 {
		return document
	}
	return slices.Concat(document[:v.Index], gjson.AppendJSONString(nil, name), document[v.Index+len(v.Raw):])
}
