package gateway

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

func TestBrief(t *testing.T) {
	for _, test := range []struct {
		name, text string
		n          int
		want       string
	}{
		{"short", "no route to host", 20, "no route to host"},
		{"exactly as long", "abcdef", 6, "abcdef"},
		{"longer", "abcdefg", 6, "abc…"},
		{"several lines", "a\nb\r\tc", 20, "a b  c"},
		{"control and invisible characters", "a\x1b[31mb\u202ec", 20, "a [31mb c"},
		{"inside a character", "ééééé", 8, "éé…"},
		{"not UTF-8", "a\xff\xfeb", 20, "a\uFFFDb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := brief(test.text, test.n); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// What an upstream sends reaches the log cut, on one line and without the key.
func TestCausesInTheLogAreShort(t *testing.T) {
	long := strings.Repeat("long ", 2000)
	for name, upstream := range map[string]http.HandlerFunc{
		"content type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/x-"+providerKey+"-"+long)
		},
		"content encoding": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", long)
			sse(w, helloEvent)
		},
		"malformed header": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nmalformed " + long + "\r\n\r\n"))
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstream)
			if got := s.post(streamBody); got.status != 502 {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			s.settled()
			cause := gjson.Get(s.logs.String(), "cause").Str
			if cause == "" || len(cause) > maxCause || strings.Contains(cause, "\n") || !utf8.ValidString(cause) {
				t.Errorf("cause of %d bytes: %q", len(cause), cause)
			}
			if strings.Contains(s.logs.String(), providerKey) {
				t.Error("the log holds the key")
			}
		})
	}
}

// Every outcome is in the docs.
func TestEveryOutcomeIsDocumented(t *testing.T) {
	docs := readDocs(t)
	source, err := os.ReadFile("outcome.go")
	if err != nil {
		t.Fatal(err)
	}
	outcomes := regexp.MustCompile(`outcome = "(\w+)"`).FindAllSubmatch(source, -1)
	if len(outcomes) < 10 {
		t.Fatalf("%d outcomes found", len(outcomes))
	}
	for _, o := range outcomes {
		if !strings.Contains(docs, "| `"+string(o[1])+"` |") {
			t.Errorf("outcome %s is not in the table", o[1])
		}
	}
}
