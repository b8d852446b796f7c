//go:build integration

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The official OpenAI client for Python works against the gateway with the
// engine behind it. make ci brings the client.
func TestOpenAIClient(t *testing.T) {
	python := os.Getenv("LLMCTL_OPENAI_PYTHON")
	if python == "" {
		t.Fatal("LLMCTL_OPENAI_PYTHON is not set, expected a Python with the openai package (make ci sets it)")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel) // runs after the stack has ended by itself
	const key = "sk-integration"
	stack := exec.CommandContext(ctx, self, "stack")
	stack.Env = append(ownEnvironment(t), stackKeyEnv+"="+key)
	stdin, err := stack.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := stack.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := stack.Wait(); err != nil {
			t.Errorf("the stack ended with %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready stackReady
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, python, "testdata/openai/client.py", ready.Endpoint+"/v1", key).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Fatalf("%v\n%s", err, out)
	}
}
