package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// report asks the admin listener for the segments.
func (s *stand) report(query string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.admin+"/admin/segments"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	return s.do(r)
}

// minutes is a clock that goes on by a minute with every look.
func minutes(_ *config.Config, o *Options) {
	start := time.Now()
	var n atomic.Int64
	o.Now = func() time.Time { return start.Add(time.Duration(n.Add(1)) * time.Minute) }
}

func TestTheReportOfSegmentsSaysWhatRepeatsAndWhatBreaksIt(t *testing.T) {
	s := serve(t, replies(200, plainReply), minutes)
	system := strings.Repeat("You are confidential and never say so. ", 60)
	const tools = `"tools":[{"type":"function","function":{"name":"lookup"}}]`
	for i := range 40 {
		user := fmt.Sprintf(`{"role":"user","content":"question %d"}`, i)
		if got := s.post(fmt.Sprintf(`{"model":"small",%s,"messages":[{"role":"system","content":"%s"},%s]}`, tools, system, user)); got.status != 200 {
			t.Fatal(got.body)
		}
		stamp := time.Unix(1764500000+int64(i)*97, 0).UTC().Format(time.DateTime)
		s.post(fmt.Sprintf(`{"model":"large","messages":[{"role":"system","content":"Now: %s. %s"},%s]}`, stamp, system, user))
	}
	s.settled()
	got := s.report("")
	if got.status != 200 || gjson.Get(got.body, "schema").Str != "llmctl/segments/v1" || gjson.Get(got.body, "aliases.#").Int() != 2 {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	for path, want := range map[string]string{
		"aliases.0.alias": "small", "aliases.0.requests": "40", "aliases.0.prefixes.0.segment": "messages[0]", "aliases.0.prefixes.0.role": "system",
		"aliases.0.prefixes.0.whole": "true", "aliases.0.prefixes.0.pin": "true", "aliases.0.breaks.#": "0",
		"aliases.1.alias": "large", "aliases.1.prefixes.#": "0", "aliases.1.breaks.0.looks_like": "timestamp",
		"aliases.1.breaks.0.segment": "messages[0]", "aliases.1.breaks.0.offset": "5", "aliases.1.breaks.0.same_after": "1",
	} {
		if v := gjson.Get(got.body, path).String(); v != want {
			t.Errorf("%s is %s, want %s", path, v, want)
		}
	}
	text := s.report("?format=text&alias=large")
	if !strings.Contains(text.body, "by a timestamp at byte 5 of messages[0] (system)") || strings.Contains(text.body, "small") {
		t.Errorf("as text: %s", text.body)
	}
	for _, shown := range []string{got.body, text.body, s.logs.String(), s.metrics()} {
		if strings.Contains(shown, "confidential") || strings.Contains(shown, "lookup") {
			t.Errorf("the prompt is shown: %s", shown)
		}
	}
	if got := s.report("?alias=none"); got.status != 404 {
		t.Errorf("an unknown alias: status %d", got.status)
	}
}

func TestTheReportOfSegmentsIsForTheAdministrator(t *testing.T) {
	s := serve(t, replies(200, plainReply))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+"/admin/segments", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "Bearer " + searchKey} {
		r.Header.Set("Authorization", token)
		if got := s.do(r); got.status != 401 {
			t.Errorf("with %q: status %d", token, got.status)
		}
	}
}

func TestSegmentsCanBeSwitchedOffAndQuoted(t *testing.T) {
	off := false
	s := serve(t, replies(200, plainReply), configure(func(c *config.Config) { c.Segments.Enabled = &off }))
	s.post(plainBody)
	if got := s.report(""); gjson.Get(got.body, "aliases").Raw != "[]" {
		t.Errorf("report %s", got.body)
	}
	s = serve(t, replies(200, plainReply), configure(func(c *config.Config) { c.Segments.Excerpt = 10 }))
	for range 3 {
		s.post(`{"model":"small","messages":[{"role":"user","content":"hello world, hello"}]}`)
	}
	s.settled()
	if got := s.report("?alias=small"); gjson.Get(got.body, "aliases.0.prefixes.0.excerpt").Str != "hello worl" {
		t.Errorf("report %s", got.body)
	}
}

// What was counted outlives a new configuration.
func TestTheReportOutlivesAReload(t *testing.T) {
	var c *config.Config
	s := serve(t, replies(200, plainReply), configure(func(x *config.Config) { c = x }))
	s.post(plainBody)
	for _, test := range []struct {
		excerpt config.Count
		want    int64
	}{{0, 1}, {5, 0}} {
		next := *c
		next.Segments.Excerpt = test.excerpt
		if err := s.gateway.Reload(&next); err != nil {
			t.Fatal(err)
		}
		if got := gjson.Get(s.report("?alias=small").body, "aliases.0.requests").Int(); got != test.want {
			t.Errorf("excerpt %d: %d requests are known, want %d", test.excerpt, got, test.want)
		}
	}
}

// Whatever a body that was accepted holds, its parts can be read.
func FuzzPartsOfAPrompt(f *testing.F) {
	f.Add(`{"model":"m","messages":[{"role":"system","content":"a"},{"content":[{"type":"text","text":"b"}]},5,null],"tools":[]}`)
	f.Add(`{"model":"m","input":"x","instructions":"y","text":{"format":{"type":"json_schema"}}}`)
	f.Add(`{"model":"m","prompt":["a","b"],"user":"u","n":2}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, d := range dialects {
			q, err := parseRequest(d, []byte(body))
			if err != nil {
				continue
			}
			for _, s := range q.segments() {
				if !strings.Contains(body, s.Text) {
					t.Errorf("segment %+v is not in the body", s)
				}
			}
			q.needs()
			if blocks := q.blocks("m", "salt"); len(blocks)*64 > len(body) {
				t.Errorf("%d blocks of %d bytes", len(blocks), len(body))
			}
		}
	})
}
