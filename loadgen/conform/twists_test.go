package conform_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/llmctl/llmctl/loadgen/conform"
)

// asked is what a twist looks at.
type asked struct {
	*http.Request
	body []byte
}

func (a asked) has(member string) bool { return gjson.GetBytes(a.body, member).Exists() }

// twist changes the whole answers to some requests; streams pass as they are.
func twist(next http.Handler, edit func(a asked, w *httptest.ResponseRecorder)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if gjson.GetBytes(body, "stream").Bool() {
			next.ServeHTTP(w, r)
			return
		}
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		edit(asked{r, body}, recorder)
		for name, values := range recorder.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// sets is a twist that changes a member of all answers to chats.
func sets(member string, value any) func(asked, *httptest.ResponseRecorder) {
	return func(a asked, w *httptest.ResponseRecorder) {
		if w.Code != http.StatusOK || a.Method != http.MethodPost {
			return
		}
		var changed []byte
		var err error
		if value == nil {
			changed, err = sjson.DeleteBytes(w.Body.Bytes(), member)
		} else {
			changed, err = sjson.SetBytes(w.Body.Bytes(), member, value)
		}
		if err != nil {
			panic(err)
		}
		w.Body = bytes.NewBuffer(changed)
	}
}

// instead is a twist that answers some requests in another way.
func instead(when func(asked) bool, status int, kind, body string) func(asked, *httptest.ResponseRecorder) {
	return func(a asked, w *httptest.ResponseRecorder) {
		if when(a) {
			w.Code, w.Body = status, bytes.NewBufferString(body)
			w.Header().Set("Content-Type", kind)
		}
	}
}

func chatWith(member string) func(asked) bool {
	return func(a asked) bool { return a.has(member) }
}

func to(path string) func(asked) bool {
	return func(a asked) bool { return a.URL.Path == path }
}

func refusedBefore(a asked, w *httptest.ResponseRecorder) bool {
	return w.Code >= 400 && a.Method == http.MethodPost
}

const (
	badRequestBody = `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`
	htmlPage       = "<html><head><title>502 Bad Gateway</title></head></html>"
)

// twisted is a server that breaks one rule.
type twisted struct {
	name string
	edit func(asked, *httptest.ResponseRecorder)
	pick string
	want []string // cases that fail
}

func twists() []twisted {
	always := func(asked) bool { return true }
	html := instead(always, http.StatusBadGateway, "text/html", htmlPage)
	count := new(atomic.Int64)
	return []twisted{
		{"models are no list", instead(to("/v1/models"), 200, "application/json", `{"models":[]}`), "models/list", []string{"models/list"}},
		{"models in HTML", instead(to("/v1/models"), 200, "text/html", htmlPage), "models/list", []string{"models/list"}},
		{"chats are broken", html, "whole", []string{"whole/answered"}},
		{"JSON without its name", func(_ asked, w *httptest.ResponseRecorder) { w.Header().Set("Content-Type", "text/plain") }, "whole", []string{"whole/content-type"}},
		{"no id", sets("id", nil), "whole", []string{"whole/shape"}},
		{"another object", sets("object", "chat.completion.chunk"), "whole", []string{"whole/shape"}},
		{"the role is user", sets("choices.0.message.role", "user"), "whole", []string{"whole/shape"}},
		{"no finish_reason", sets("choices.0.finish_reason", nil), "whole", []string{"whole/finish-reason"}},
		{"a finish_reason of its own", sets("choices.0.finish_reason", "eos_token"), "whole", []string{"whole/finish-reason"}},
		{"no limit is kept", sets("usage.completion_tokens", 5), "whole", []string{"whole/max-tokens", "whole/max-completion-tokens"}},
		{"max_completion_tokens is not known", func(a asked, w *httptest.ResponseRecorder) {
			if a.has("max_completion_tokens") {
				sets("usage.completion_tokens", 16)(a, w)
			}
		}, "whole", []string{"whole/max-completion-tokens"}},

		{"the total is no sum", sets("usage.total_tokens", 1), "usage", []string{"usage/whole"}},
		{"no prompt tokens", sets("usage.prompt_tokens", 0), "usage", []string{"usage/whole", "usage/same"}},
		{"another count in streams", sets("usage.prompt_tokens", 11), "usage/same", []string{"usage/same"}},
		{"more is cached than sent", sets("usage.prompt_tokens_details.cached_tokens", 1000), "usage", []string{"usage/cached"}},

		{"panics on bad bodies", func(a asked, w *httptest.ResponseRecorder) {
			if refusedBefore(a, w) && !gjson.ValidBytes(a.body) {
				html(a, w)
			}
		}, "errors/malformed", []string{"errors/malformed"}},
		{"panics on null", func(a asked, w *httptest.ResponseRecorder) {
			if refusedBefore(a, w) && gjson.ParseBytes(a.body).Type == gjson.Null {
				html(a, w)
			}
		}, "errors/not-an-object", []string{"errors/not-an-object"}},
		{"any model is answered", instead(func(a asked) bool { return strings.Contains(string(a.body), "no-such-model") }, 200, "application/json", `{"choices":[]}`), "errors/unknown-*", []string{"errors/unknown-model", "errors/unknown-model-code"}},
		{"errors as FastAPI has them", func(a asked, w *httptest.ResponseRecorder) {
			if refusedBefore(a, w) {
				w.Body = bytes.NewBufferString(`{"detail":"no"}`)
			}
		}, "errors/shape", []string{"errors/shape"}},
		{"any method is answered", instead(func(a asked) bool { return a.Method == http.MethodGet && a.URL.Path != "/v1/models" }, 200, "text/html", htmlPage), "errors/[mp]*th*", []string{"errors/method", "errors/path"}},
		{"bodies of 1 MiB at most", instead(func(a asked) bool { return len(a.body) > 1<<20 }, http.StatusRequestEntityTooLarge, "text/html", htmlPage), "errors/large-body", []string{"errors/large-body"}},
		{"stream_options break it", instead(chatWith("stream_options"), http.StatusInternalServerError, "application/json", badRequestBody), "errors/stream-options", []string{"errors/stream-options"}},

		{"a wrong key is quoted", func(a asked, w *httptest.ResponseRecorder) {
			if w.Code == http.StatusUnauthorized {
				w.Body = bytes.NewBufferString(`{"error":{"message":"no such key: ` + a.Header.Get("Authorization") + `","type":"authentication_error"}}`)
			}
		}, "auth/[nw]*", []string{"auth/not-quoted"}},
		{"anybody is answered", func(a asked, w *httptest.ResponseRecorder) {
			if w.Code == http.StatusUnauthorized {
				w.Code = http.StatusOK
			}
		}, "auth", []string{"auth/missing", "auth/wrong", "auth/garbled"}},
		{"Basic credentials panic", func(a asked, w *httptest.ResponseRecorder) {
			if strings.HasPrefix(a.Header.Get("Authorization"), "Basic") {
				html(a, w)
			}
		}, "auth", []string{"auth/garbled"}},
		{"keys are echoed", func(a asked, w *httptest.ResponseRecorder) {
			w.Header().Set("X-Debug", a.Header.Get("Authorization"))
		}, "secrets", []string{"secrets/not-repeated"}},

		{"unknown members are refused", instead(chatWith("x_future"), 400, "application/json", badRequestBody), "params/[uc]*", []string{"params/unknown"}},
		{"null is refused", instead(func(a asked) bool { return gjson.GetBytes(a.body, "top_p").Raw == "null" }, 400, "application/json", badRequestBody), "params/[nu]*", []string{"params/null"}},
		{"parts are refused", instead(func(a asked) bool { return gjson.GetBytes(a.body, "messages.0.content").IsArray() }, 400, "application/json", badRequestBody), "params/[tc]*s", []string{"params/content-parts"}},
		{"system messages are refused", instead(func(a asked) bool { return gjson.GetBytes(a.body, "messages.0.role").Str == "system" }, 400, "application/json", badRequestBody), "params/turns", []string{"params/turns"}},
		{"no answer is like another", func(a asked, w *httptest.ResponseRecorder) {
			sets("choices.0.message.content", fmt.Sprintf("answer number %d", count.Add(1)))(a, w)
		}, "params/seed", []string{"params/seed"}},

		{"completions break", instead(to("/v1/completions"), 500, "application/json", badRequestBody), "apis", []string{"apis/completions"}},
		{"completions are chats", instead(to("/v1/completions"), 200, "application/json", `{"object":"chat.completion"}`), "apis", []string{"apis/completions"}},
		{"embeddings of one text only", instead(to("/v1/embeddings"), 200, "application/json", `{"data":[{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":1}}`), "apis", []string{"apis/embeddings"}},
		{"responses are chats", instead(to("/v1/responses"), 200, "application/json", `{"object":"chat.completion"}`), "apis", []string{"apis/responses"}},
		{"what is not there is refused", instead(func(a asked) bool { return !to("/v1/chat/completions")(a) && a.Method == http.MethodPost }, 404, "application/json", badRequestBody), "apis", []string{}},

		{"any request id comes back", func(a asked, w *httptest.ResponseRecorder) {
			w.Header().Set("X-Request-Id", a.Header.Get("X-Request-Id"))
		}, "headers/hostile*", []string{"headers/hostile-request-id"}},
		{"connections are closed", func(_ asked, w *httptest.ResponseRecorder) { w.Header().Set("Connection", "close") }, "connection/reuse", []string{"connection/reuse"}},
		{"nothing is cached", sets("usage.prompt_tokens_details.cached_tokens", 0), "caching", []string{"caching/prefix"}},
		{"all is cached for all", sets("usage.prompt_tokens_details.cached_tokens", 7), "caching", []string{"caching/prefix"}},
	}
}

// Each of these servers breaks one rule, and the cases that say so fail.
func TestTwistsFailTheirCases(t *testing.T) {
	for _, tt := range twists() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := conform.Options{Pick: []string{tt.pick}, Model: "m"}
			before := failures(check(t, faultless(), o))
			got := slices.DeleteFunc(failures(check(t, twist(faultless(), tt.edit), o)), func(id string) bool {
				return slices.Contains(before, id) && !slices.Contains(tt.want, id)
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s", diff)
			}
		})
	}
}

// A server behind which connections die while nobody asks.
func TestConnectionsThatDieWhileIdle(t *testing.T) {
	const idle = 50 * time.Millisecond
	var last atomic.Int64
	m := faultless()
	dying := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since := time.Duration(time.Now().UnixNano() - last.Swap(time.Now().UnixNano()))
		if r.Method == http.MethodPost && since > idle && since < time.Hour {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		m.ServeHTTP(w, r)
		last.Store(time.Now().UnixNano())
	})
	// Whatever else takes as long on a busy machine fails before the case is tried.
	r := check(t, dying, conform.Options{Pick: []string{"connection/after-idle"}, Idle: 2 * idle})
	if c := r.Results[0]; c.Verdict == conform.Pass {
		t.Errorf("%+v", c)
	}
}

// A server that mixes the chunks of streams up that run at once.
func TestStreamsThatAreMixedUp(t *testing.T) {
	same := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	r := check(t, streamsTo(same, faultless()), conform.Options{Pick: []string{"connection/parallel"}})
	if c := r.Results[0]; c.Verdict != conform.Fail || c.Seen != "two streams have id chatcmpl-1" {
		t.Errorf("%+v", c)
	}
}
