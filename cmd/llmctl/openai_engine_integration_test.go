//go:build integration

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/trial"
)

// The official OpenAI client for Python works against the engine alone: several
// answers, logprobs, helpers for streams, usage details and errors with the built-in
// model; with LLMCTL_SMOLLM2, a GGUF file of real text, parsed answers and tools, too.
func TestOpenAIClientOfTheEngine(t *testing.T) {
	python := os.Getenv("LLMCTL_OPENAI_PYTHON")
	if python == "" {
		t.Fatal("LLMCTL_OPENAI_PYTHON is not set, expected a Python with the openai package (make ci sets it)")
	}
	models := map[string][]string{"built-in": {"--model", builtinModel}}
	if path := os.Getenv("LLMCTL_SMOLLM2"); path != "" {
		models["SmolLM2"] = []string{"--model", path, "--served-model-name", "smollm2"}
	}
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			address, err := trial.FreeAddress()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			command := append([]string{self, "serve", "--addr", address}, model...)
			url := "http://" + address
			server, err := trial.StartServer(ctx, command, append(ownEnvironment(t), "LLMCTL_API_KEY=sk-engine"), t.TempDir(), url+"/health", true)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Stop()
			out, err := exec.CommandContext(ctx, python, filepath.Join("testdata", "openai", "engine.py"), url+"/v1", "sk-engine").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "ok several") {
				t.Fatalf("%v\n%s", err, out)
			}
			if name != "built-in" && strings.Contains(string(out), "skipped") {
				t.Errorf("a model of real text has something skipped:\n%s", out)
			}
		})
	}
}
