package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/quality"
	"github.com/llmctl/llmctl/internal/iostreams"
)

func TestRunRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		code int
		err  string
	}{
		{"no model", nil, 2, "expected a GGUF file or a Hugging Face folder"},
		{"a model that is not there", []string{"-model", filepath.Join(t.TempDir(), "none.gguf")}, 1, "error: opening model"},
		{"no such flag", []string{"-modell", "x"}, 2, "flag provided but not defined"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(&iostreams.IO{Out: &out, Err: &errs}, tc.args); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if out.Len() > 0 || !strings.Contains(errs.String(), tc.err) {
				t.Errorf("printed %q and %q", out.String(), errs.String())
			}
		})
	}
}

func TestPageShowsChangesAgainstTheFirstRow(t *testing.T) {
	results := func(perplexity float64, top ...int32) (all []quality.Result) {
		for range 4 {
			all = append(all, quality.Result{Places: len(top), Perplexity: perplexity, Top: top})
		}
		return all
	}
	m := table{model: "tiny.gguf", stored: "Q4_1", rows: []row{
		{quality.Baseline, results(10, 1, 2, 3, 4)},
		{quality.Format{Weights: "stored", KV: attention.FP8}, results(10.5, 1, 2, 3, 5)},
	}}
	page := m.markdown()
	for _, want := range []string{
		"Perplexity of tiny.gguf on four kinds of text", "which are Q4_1, have",
		"16 places in\nchunks of 501 tokens",
		"| float32 | float32 | 10.000 | 10.000 | 10.000 | 10.000 | 100.00 % |\n",
		"| Q4_1 | fp8 | 10.500 (+5.00 %) | 10.500 (+5.00 %) | 10.500 (+5.00 %) | 10.500 (+5.00 %) | 75.00 % |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
