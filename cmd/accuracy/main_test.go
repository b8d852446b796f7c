package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/internal/iostreams"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "models.csv"), []byte("key,total_params,config_file\nllama-3.1-8b,8030261248,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	far := t.TempDir()
	if err := os.WriteFile(filepath.Join(far, "models.csv"), []byte("key,total_params,config_file\nllama-3.1-8b,9000000000,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.md")
	for _, tc := range []struct {
		name     string
		args     []string
		code     int
		out, err string
	}{
		{"a folder", []string{"-data", dir, "-write", page}, 0, "1 of 1 within", ""},
		{"a bar that is not held", []string{"-data", far}, 1, "0 of 1 within", "error: not held: parameters"},
		{"a report alone", []string{"-data", far, "-report"}, 0, "0 of 1 within", ""},
		{"a folder without files", []string{"-data", t.TempDir()}, 1, "", "has no row that can be compared"},
		{"no folder", []string{"-data", filepath.Join(dir, "none")}, 1, "", "error: reading data"},
		{"no such flag", []string{"-date", dir}, 2, "", "flag provided but not defined"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(&iostreams.IO{Out: &out, Err: &errs}, tc.args); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if !strings.Contains(out.String(), tc.out) || !strings.Contains(errs.String(), tc.err) {
				t.Errorf("printed %q and %q", out.String(), errs.String())
			}
		})
	}
	if text, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(text), "# Accuracy") {
		t.Errorf("the page begins %.20q, %v", text, err)
	}
}
