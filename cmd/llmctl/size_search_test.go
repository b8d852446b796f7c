package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

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
