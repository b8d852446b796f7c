package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// lines is an io.Writer that hands on what is written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// The first interrupt refuses what comes, in the body of an answer and in /health, and
// waits; the second cuts what runs, whose stream is told, and the exit code says so.
func TestDrainOfAServer(t *testing.T) {
	v, err := parsed(t, "--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b").open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	here := &visitors{}
	l, err := listen("127.0.0.1:0", here.wrap(v.handler()))
	if err != nil {
		t.Fatal(err)
	}
	said, interrupts := make(lines, 8), make(chan os.Signal, 2)
	d := drain{engine: v.engine, visitors: here, grace: time.Hour, interrupts: interrupts, errs: said}
	ended := make(chan error, 1)
	go func() { ended <- d.serve(l) }()

	client := &http.Client{}
	defer client.CloseIdleConnections()
	do := func(method, path, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, l.url()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	stream := do(http.MethodPost, "/v1/completions", `{"prompt":"x","stream":true,"max_tokens":100000,"ignore_eos":true}`)
	defer func() { _ = stream.Body.Close() }()
	interrupts <- os.Interrupt
	if line := <-said; !strings.HasPrefix(line, "stopping: 1 running request may end within 1h0m0s") {
		t.Errorf("said %q", line)
	}
	for _, c := range []struct{ method, path, body string }{{http.MethodGet, "/health", ""}, {http.MethodPost, "/v1/completions", `{"prompt":"x"}`}} {
		response := do(c.method, c.path, c.body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s during the drain: status %d, want 503", c.path, response.StatusCode)
		}
	}
	interrupts <- os.Interrupt
	rest, err := io.ReadAll(stream.Body)
	if err != nil || !strings.Contains(string(rest[max(0, len(rest)-300):]), "the engine is shut down") {
		t.Errorf("the stream ended with %q, %v", rest[max(0, len(rest)-300):], err)
	}
	if line := <-said; line != "stopped: 1 request cut short\n" {
		t.Errorf("said %q", line)
	}
	if code := report(quiet(), <-ended); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}

// With nothing to do a server ends at once, and well.
func TestDrainOfAnIdleServer(t *testing.T) {
	v, err := parsed(t).open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	l, err := listen("127.0.0.1:0", v.handler())
	if err != nil {
		t.Fatal(err)
	}
	said, interrupts := make(lines, 8), make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	d := drain{engine: v.engine, visitors: &visitors{}, grace: time.Hour, interrupts: interrupts, errs: said}
	if err := d.serve(l); err != nil {
		t.Error(err)
	}
	if line := <-said; line != "stopped\n" {
		t.Errorf("said %q", line)
	}
}
