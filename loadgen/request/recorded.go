package request

import (
	"strings"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// recorded returns a body of a trace as it was recorded, but for what a
// measurement needs: that the answer is streamed with its usage, the model where
// the user names another or the body none, and what the user adds.
func (w *Writer) recorded(s workload.Session, t *workload.Turn, without Without) []byte {
	edit := editor{body: append([]byte(nil), t.Body...)}
	if w.ReplaceModel || s.Model != "" {
		edit.set("model", encoded(w.model(s)))
	} else {
		edit.setDefault("model", encoded(w.Model))
	}
	if w.API != client.Embeddings {
		edit.set("stream", []byte("true"))
	}
	if options := w.streamOptions(without); options != nil {
		edit.set("stream_options", encoded(options))
	} else {
		edit.remove("stream_options")
	}
	for _, m := range w.Extra.members {
		edit.set(m.key, m.value)
	}
	return edit.body
}

// editor changes members of a JSON object and leaves all other bytes alone. A
// body that is no object stays as it is.
type editor struct{ body []byte }

// path makes a key that sjson takes for one name.
var path = strings.NewReplacer(`\`, `\\`, ".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`, ":", `\:`)

func (e *editor) set(key string, value []byte) {
	if body, err := sjson.SetRawBytes(e.body, path.Replace(key), value); err == nil {
		e.body = body
	}
}

func (e *editor) setDefault(key string, value []byte) {
	if !gjson.GetBytes(e.body, path.Replace(key)).Exists() {
		e.set(key, value)
	}
}

func (e *editor) remove(key string) {
	if body, err := sjson.DeleteBytes(e.body, path.Replace(key)); err == nil {
		e.body = body
	}
}
