package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The steps that an engine logs while it answers are what calibrate fits, and size takes
// what that gives. Three sizes of batches are one factor for all times, whatever else the
// machine does meanwhile.
func TestStepsOfAServerCalibrate(t *testing.T) {
	dir := t.TempDir()
	log, out := filepath.Join(dir, "steps.jsonl"), filepath.Join(dir, "laptop.yaml")
	v, err := parsed(t, "--step-log", log).open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 4, 8} {
		w := httptest.NewRecorder()
		body := fmt.Sprintf(`{"prompt":"hello there","max_tokens":20,"ignore_eos":true,"n":%d}`, n)
		v.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(body)))
		if w.Code != 200 {
			t.Error(w.Body)
		}
	}
	v.close()
	s := quiet()
	var said strings.Builder
	s.Out = &said
	cmd := newCalibrate(s)
	cmd.SetArgs([]string{log, "--model", "builtin", "--accelerator", "cpu", "--engine", "llmctl", "--out", out})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"llmctl on cpu, dense models: 3 points", "times as", "--calibration " + out} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it says %q, want %q in it", said.String(), want)
		}
	}
	table, err := readCalibration(out)
	if err != nil || len(table) != 1 || strings.Join(table[0].Rows, ", ") != "steps of 2, steps of 4, steps of 8" {
		t.Errorf("calibration %+v, %v", table, err)
	}
	if data, err := os.ReadFile(log); err != nil || !strings.Contains(string(data), `"prefill":[{"tokens":`) {
		t.Errorf("the log tells no prompts: %.200s, %v", data, err)
	}
}
