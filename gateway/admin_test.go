package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestAdminTokenGuardsMetricsOnly(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	for _, test := range []struct {
		path, token string
		want        int
	}{
		{"/metrics", "", 401}, {"/metrics", searchKey, 401}, {"/metrics", adminToken, 200}, {"/livez", "", 200}, {"/readyz", "", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.token != "" {
			r.Header.Set("Authorization", "Bearer "+test.token)
		}
		if got := s.do(r); got.status != test.want {
			t.Errorf("%s with %q: status %d, want %d", test.path, test.token, got.status, test.want)
		}
	}
}

func TestWhatClientsTypeMakesNoSeries(t *testing.T) {
	s := serve(t, mustNotBeCalled(t))
	series := func() int { return strings.Count(s.metrics(), "llmctl_gateway_requests_total{") }
	s.post(`{"model":"x"}`)
	before := series()
	for i := range 200 {
		s.post(fmt.Sprintf(`{"model":"random-%d"}`, i))
	}
	if after := series(); after != before || before == 0 {
		t.Errorf("%d series became %d", before, after)
	}
}

func TestSecretsAndContentStayOutOfTheLog(t *testing.T) {
	const content = "my-private-question"
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), `"stream":true`):
			sse(w, helloEvent, `data: {"error":{"message":"`+providerKey+` `+content+`"}}`+"\n\n")
		case strings.Contains(string(body), "refuse"):
			replies(401, `{"error":{"message":"Incorrect API key `+providerKey+`"}}`)(w, r)
		default:
			replies(400, `{"error":{"message":"`+providerKey+` `+content+`"}}`)(w, r)
		}
	})
	var shown strings.Builder
	for _, body := range []string{
		`{"model":"small","prompt":"` + content + `"}`,
		`{"model":"small","stream":true,"prompt":"` + content + `"}`,
		`{"model":"small","prompt":"refuse ` + content + `"}`,
		`{"model":"` + content + `"}`,
		`{"model":"small","` + content + `"`,
	} {
		r := s.request(t.Context(), body)
		r.URL.RawQuery = "api_key=" + searchKey
		shown.WriteString(s.do(r).body)
	}
	s.settled()
	for name, text := range map[string]string{"log": s.logs.String(), "metrics": s.metrics(), "answers": shown.String()} {
		for _, secret := range []string{providerKey, searchKey, chatKey, adminToken} {
			if strings.Contains(text, secret) {
				t.Errorf("%s hold a secret", name)
			}
		}
		if name != "answers" && strings.Contains(text, content) {
			t.Errorf("%s hold content", name)
		}
	}
	if n := strings.Count(s.logs.String(), "\n"); n != 5 {
		t.Errorf("%d log lines for 5 requests", n)
	}
}
