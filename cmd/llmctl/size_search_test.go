package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/sizing"
)

// runHere runs a command line inside of the test.
func runHere(interrupts chan os.Signal, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	s := &iostreams.IO{Out: &out, Err: &errs, Env: func(string) string { return "" }, Interrupts: func() <-chan os.Signal { return interrupts }}
	code = run(s, args)
	return code, out.String(), errs.String()
}

// The command that a search prints plans what it found, with everything that was
// said.
func TestSearchedCommandPlansTheSame(t *testing.T) {
	code, out, errs := runHere(nil, "size", "--model", "llama-3.1-8b", "--rps", "30", "--accelerator", "h100-sxm-80gb,l4-24gb",
		"--slo", "ttft=1s", "--slo", "batch:e2e=60s", "--isl", "lognormal:mean=800,p99=4000", "--kv-dtype", "bf16", "--price", "2", "-o", "json")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var found sizing.Search
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Front) < 2 {
		t.Fatalf("a front of %d", len(found.Front))
	}
	for _, o := range found.Front {
		words := strings.Fields(o.Command)
		for i := range words {
			words[i] = strings.Trim(words[i], "'")
		}
		code, out, errs := runHere(nil, append(words[1:], "-o", "json")...)
		if code != exitOK {
			t.Fatalf("%s: exit code %d: %s", o.Command, code, errs)
		}
		var plan sizing.Plan
		if err := json.Unmarshal([]byte(out), &plan); err != nil {
			t.Fatal(err)
		}
		if plan.Fleet.USDPerHour != o.USDPerHour || plan.Performance.TTFT.P99 != o.TTFT || plan.Inputs.SLO.E2E != 60 {
			t.Errorf("%s plans $%v, TTFT %v; the search says $%v, %v", o.Command, plan.Fleet.USDPerHour, plan.Performance.TTFT.P99, o.USDPerHour, o.TTFT)
		}
	}
}

func TestInterruptEndsASearch(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	code, out, errs := runHere(interrupts, "size", "--model", "llama-3.1-8b", "--search")
	if code != exitInterrupted || out != "" || !strings.Contains(errs, "the search was interrupted") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, errs)
	}
}

func TestSearchProgress(t *testing.T) {
	for _, tc := range []struct {
		name     string
		terminal bool
		term     string
		want     string
	}{
		{"log", false, "xterm", "searching: 62%\n"},
		{"terminal", true, "xterm", "\rsearching: 12%\x1b[K\rsearching: 25%\x1b[K\rsearching: 37%\x1b[K\rsearching: 50%\x1b[K\rsearching: 62%\x1b[K\rsearching: 75%\x1b[K\rsearching: 87%\x1b[K\r\x1b[K"},
		{"terminal that can not redraw", true, "dumb", "searching: 62%\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			var b bytes.Buffer
			s := &iostreams.IO{Err: &b, ErrTTY: tc.terminal, Env: func(string) string { return tc.term }}
			p := newProgress(s, func() time.Time { return now })
			for done := range 8 {
				p.tell(done, 8)
				now = now.Add(time.Second)
			}
			p.end()
			if b.String() != tc.want {
				t.Errorf("%q, want %q", b.String(), tc.want)
			}
		})
	}
}

// A quick search says nothing, and leaves nothing to erase.
func TestQuickSearchIsQuiet(t *testing.T) {
	now := time.Unix(0, 0)
	var b bytes.Buffer
	p := newProgress(&iostreams.IO{Err: &b, ErrTTY: true, Env: func(string) string { return "" }}, func() time.Time { return now })
	p.tell(1, 2)
	p.end()
	if b.Len() > 0 {
		t.Errorf("%q", b.String())
	}
}

// What a search can not use is refused; what it can is in what it prints.
func TestSearchWithOtherFlags(t *testing.T) {
	search := []string{"size", "--model", "llama-3.1-8b", "--search", "--accelerator", "h100-sxm-80gb", "--max-num-seqs", "256", "--weight-dtype", "fp8"}
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"pools", []string{"--rps", "20", "--disaggregate"}, exitUsage, "--disaggregate compares the pools of one plan"},
		{"bandwidth of pools", []string{"--rps", "20", "--transfer-bandwidth", "50GB/s"}, exitUsage, "add --disaggregate"},
		{"emit", []string{"--rps", "20", "--emit", "vllm"}, exitUsage, "--emit writes one plan"},
		{"explain", []string{"--rps", "20", "--explain"}, exitUsage, "--explain explains one plan"},
		{"a count that carries the load", []string{"--rps", "20", "--count", "4"}, exitOK, "--count 4"},
		{"a count that carries what it can", []string{"--count", "4"}, exitOK, "4 × h100-sxm-80gb"},
		{"a count that does not", []string{"--rps", "2000", "--count", "4"}, exitNotHeld, "the accelerators at hand do not carry the load"},
		{"money", []string{"--rps", "20", "--load-profile", "office", "--api-price", "in=0.15,out=0.60"}, exitOK, "the API takes $"},
		{"load profile", []string{"--rps", "20", "--load-profile", "office"}, exitOK, "with as many replicas as each hour"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, errs := runHere(nil, append(search, tc.args...)...)
			if text := out + errs; code != tc.code || !strings.Contains(strings.Join(strings.Fields(text), " "), tc.want) {
				t.Errorf("exit code %d, want %d and %q in\n%s", code, tc.code, tc.want, text)
			}
		})
	}
}
