package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/reports/record"
)

func TestOnThisMachine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		target target
		want   bool
	}{
		{"localhost", target{endpoint: "http://localhost:8000"}, true},
		{"loopback without a scheme", target{endpoint: "127.0.0.1:8000/v1"}, true},
		{"another loopback", target{endpoint: "http://127.9.9.9"}, true},
		{"loopback, version 6", target{endpoint: "http://[::1]:8000"}, true},
		{"elsewhere", target{endpoint: "https://api.example.com/v1"}, false},
		{"a name that begins alike", target{endpoint: "http://localhost.example.com"}, false},
		{"this network", target{endpoint: "http://10.0.0.5:8000"}, false},
		{"bundled on a GPU", target{bundled: true, device: "cuda", endpoint: "http://127.0.0.1:1"}, true},
		{"bundled on the CPU", target{bundled: true, device: "cpu", endpoint: "http://127.0.0.1:1"}, false},
	} {
		if got := onThisMachine(tt.target); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// Who asks for GPUs gets them, or hears once why not; who does not, hears
// nothing.
func TestOpenGPUs(t *testing.T) {
	for _, tt := range []struct {
		flag   string
		target target
		told   int
	}{
		{"on", target{endpoint: "https://api.example.com"}, 1},
		{"auto", target{endpoint: "http://localhost"}, 0},
		{"off", target{endpoint: "http://localhost"}, 0},
	} {
		t.Run(tt.flag, func(t *testing.T) {
			var said bytes.Buffer
			b := &bench{io: &iostreams.IO{Err: &said}, flags: &benchFlags{telemetry: telemetryFlags{gpu: tt.flag}}}
			for range 2 {
				if gpus := b.openGPUs(tt.target); gpus != nil {
					gpus.Close()
					tt.told = 0
				}
			}
			if n := strings.Count(said.String(), "\n"); n != tt.told || len(b.warnings) != tt.told {
				t.Errorf("told %d times: %q, %v", n, said.String(), b.warnings)
			}
		})
	}
}

func TestLivePage(t *testing.T) {
	var said bytes.Buffer
	b := &bench{io: &iostreams.IO{Err: &said}, flags: &benchFlags{ui: "plain", telemetry: telemetryFlags{addr: "127.0.0.1:0"}}}
	p, err := b.openLivePage()
	if err != nil {
		t.Fatal(err)
	}
	added, shown := 0, 0
	add, show := p.observe(func(*record.Record) { added++ }, func(record.Live) { shown++ })
	add(&record.Record{Outcome: record.OK})
	show(record.Live{Sent: 3})
	url := p.listener.url() + "/metrics"
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || !strings.Contains(string(page), "\nllmctl_bench_sent_requests_total 3\n") || !strings.Contains(string(page), `outcome="ok"} 1`) || added != 1 || shown != 1 {
		t.Errorf("%v, %d added, %d shown: %s", err, added, shown, page)
	}
	http.DefaultClient.CloseIdleConnections()
	p.close(t.Context(), &stopper{stopped: make(chan struct{})}) // does not wait for who came once
	if response, err := http.Get(url); err == nil {
		_ = response.Body.Close()
		t.Error("the page outlives its run")
	}
	if !strings.Contains(said.String(), url) {
		t.Errorf("said %q, not where the page is", said.String())
	}
}

// Without the flag nobody listens, and nothing stands between.
func TestNoLivePage(t *testing.T) {
	p, err := (&bench{flags: &benchFlags{}}).openLivePage()
	if err != nil || p != nil {
		t.Fatalf("%v, %v", p, err)
	}
	added := 0
	add, _ := p.observe(func(*record.Record) { added++ }, func(record.Live) {})
	if add(nil); added != 1 {
		t.Error("records are lost")
	}
	p.close(t.Context(), &stopper{})
}
