package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// A mock says where it is, answers, and at the end says what it did.
func TestMockSaysWhatItServed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can not be interrupted there")
	}
	code, stderr := runWatched(t, func(p *os.Process, line string) {
		url := regexp.MustCompile(`http://\S+?/v1`).FindString(line)
		if !strings.HasPrefix(line, "mock server on") {
			return
		}
		response, err := http.Post(url+"/completions", "application/json", strings.NewReader(`{"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || strings.Count(string(text), `"text":" word"`) != 3 {
			t.Errorf("answered %q, %v", text, err)
		}
		if err := p.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}, "mock", "--addr", "127.0.0.1:0", "--ttft", "1ms", "--itl", "1ms", "--tokens", "3")
	want := regexp.MustCompile(`(?m)^served 1 request, 3 output tokens; writes late by \S+ \S+ \(p50\), \S+ \S+ \(p99\), \S+ \S+ \(max\)$`)
	if code != 0 || !want.MatchString(stderr) {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}
