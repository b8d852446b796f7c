package main

import (
	"log/slog"
	"strings"
	"testing"
)

func TestLibrariesQuoteNothingInTheLog(t *testing.T) {
	var out strings.Builder
	l := libraryLog{slog.New(slog.NewJSONHandler(&out, nil))}
	for _, line := range []string{
		"Unsolicited response received on idle HTTP channel starting with \"HTTP/1.1 200 OK secret\"; err=<nil>\n",
		"http: TLS handshake error from 127.0.0.1:1: EOF\nsecret\n",
	} {
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	got := out.String()
	if strings.Contains(got, "secret") || strings.Count(got, "\n") != 2 || !strings.Contains(got, "Unsolicited response") || !strings.Contains(got, "TLS handshake") {
		t.Errorf("log %s", got)
	}
}
