package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// exchangeRaw sends bytes to the gateway as it is served, and reads one answer.
func exchangeRaw(t *testing.T, address, method, request string) answer {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing more is sent
	go func() { _, _ = io.WriteString(c, request) }()
	response, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	body, _ := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(body)}
}

// What asks for no path of the API is told so in OpenAI's shape, wherever net/http
// leaves that to its handler.
func TestStrangeRequestsAreRefusedAsJSON(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	server := httptest.NewUnstartedServer(s.gateway.Handler())
	server.Config.DisableGeneralOptionsHandler = true // as llmctl gateway does
	server.Start()
	defer server.Close()
	for name, test := range map[string]struct {
		line   string
		header string
		status int
		code   string
	}{
		"a tunnel":                      {"CONNECT example.org:443", "", 405, "method_not_allowed"},
		"a tunnel to a path":            {"CONNECT /v1/models", "", 405, "method_not_allowed"},
		"options of everything":         {"OPTIONS *", "", 404, "not_found"},
		"a GET of everything":           {"GET *", "", 404, "not_found"},
		"an unknown method":             {"BREW /v1/chat/completions", "", 405, "method_not_allowed"},
		"options of a path":             {"OPTIONS /v1/chat/completions", "", 405, "method_not_allowed"},
		"an unknown method of no path":  {"BREW /coffee", "", 404, "not_found"},
		"an empty part":                 {"POST //v1/chat/completions", "", 404, "not_found"},
		"an empty part further down":    {"POST /v1//chat/completions", "", 404, "not_found"},
		"a way up":                      {"POST /v1/x/../chat/completions", "", 404, "not_found"},
		"a way up that is written so":   {"POST /v1/x/%2e%2e/chat/completions", "", 404, "not_found"},
		"a way nowhere":                 {"GET /v1/./models", "", 404, "not_found"},
		"a way out":                     {"GET /..", "", 404, "not_found"},
		"a slash at the end":            {"POST /v1/chat/completions/", "", 404, "not_found"},
		"another host's path":           {"GET http://example.org/nothing", "", 404, "not_found"},
		"a header of many bytes":        {"POST /v1/chat/completions", strings.Repeat("x", maxHeader), 431, "request_too_large"},
		"a header of many bytes, again": {"GET /v1/models", strings.Repeat("x", 1000<<10), 431, "request_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			method, _, _ := strings.Cut(test.line, " ")
			got := exchangeRaw(t, server.Listener.Addr().String(), method, fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: %s\r\nContent-Length: 0\r\n\r\n", test.line, test.header))
			e := gjson.Get(got.body, "error")
			if got.status != test.status || e.Get("type").Str != "invalid_request_error" || e.Get("code").Str != test.code || !e.Get("param").Exists() || e.Get("message").Str == "" {
				t.Errorf("status %d, want %d: %.300s", got.status, test.status, got.body)
			}
			if got.header.Get("Content-Type") != "application/json" || got.header.Get("X-Request-Id") == "" || got.header.Get("Location") != "" {
				t.Errorf("header %v", got.header)
			}
			if got.status == 405 && got.header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
		})
	}
	s.settled()
}

// What net/http answers before there is a handler to ask: docs/gateway.md names these.
func TestWhatIsNoHTTPNeverReachesTheAPI(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	address := strings.TrimPrefix(s.url, "http://")
	for request, status := range map[string]int{
		"nonsense\r\n\r\n":                                         400,
		"GET /v1/models HTTP/1.1\r\n\r\n":                          400, // no host
		"GET /v1/models HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n": 400,
		"GET /v1/models HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n": 431,
		"POST /v1/models HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n":                      417,
		"POST /v1/models HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n":              501,
		"GET /v1/models HTTP/3.7\r\nHost: x\r\n\r\n":                                          505,
	} {
		if got := exchangeRaw(t, address, "", request); got.status != status || gjson.Valid(got.body) && got.body != "" {
			t.Errorf("%.60q: status %d, want %d: %s", request, got.status, status, got.body)
		}
	}
	s.settled()
	if s.logs.String() != "" {
		t.Errorf("log %s", s.logs)
	}
}

func TestCleanPaths(t *testing.T) {
	for p, want := range map[string]bool{
		"/": true, "/v1/models": true, "/v1/models/": true, "/v1/models/org/name.v2": true, "/v1/.hidden": true, "/v1/a..b": true,
		"": false, "*": false, "v1": false, "//": false, "/v1//": false, "/v1//models": false, "/./v1": false, "/v1/..": false, "/v1/.": false, "/..": false,
	} {
		if clean(p) != want {
			t.Errorf("%q: %t", p, !want)
		}
	}
}

func BenchmarkOrdinary(b *testing.B) {
	s := serve(b, replies(200, plainReply))
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	h := s.gateway.ordinary(nothing)
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	for _, name := range []string{"Authorization", "Content-Type", "Accept", "User-Agent", "Accept-Encoding", "X-Request-Id", "Traceparent", "X-Stainless-Lang"} {
		r.Header.Set(name, "some value of the usual length")
	}
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
