package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/reports"
)

// Commands in the documents are run, so that they can not go stale. Those that
// start a server, or load one that is not there, have their flags checked only.
func TestDocumentedCommands(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md")
	seen := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range documentedCommands(string(text)) {
			if seen[command] {
				continue
			}
			seen[command] = true
			t.Run(command, func(t *testing.T) { tryCommand(t, self, command) })
		}
	}
	if len(seen) < 8 {
		t.Errorf("found only %d commands in the documents: %v", len(seen), seen)
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

func documentedCommands(text string) []string {
	var commands []string
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "llmctl ") {
				commands = append(commands, line)
			}
		}
	}
	return commands
}

// runnable are the commands that end by themselves on any machine.
var runnable = regexp.MustCompile(`^llmctl (size|profiles|version|doctor|man( |$)|completion)`)

// quotedAssert is a condition in a command; asking for help does not read it.
var quotedAssert = regexp.MustCompile(`--assert '([^']*)'`)

func tryCommand(t *testing.T, self, command string) {
	if strings.Contains(command, "./my-model") || strings.Contains(command, "/usr/local") {
		command = strings.NewReplacer("./my-model/config.json", "config.json", "/usr/local/share/man/man1", "man1").Replace(command)
	}
	for _, text := range quotedAssert.FindAllStringSubmatch(command, -1) {
		if _, err := reports.ParseAssert(text[1]); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	if !runnable.MatchString(command) {
		// An unknown flag is found before help is printed.
		command, _, _ = strings.Cut(command, ">")
		command, _, _ = strings.Cut(command, "&")
		command, _, _ = strings.Cut(command, " #")
		command += " --help"
		if strings.Contains(command, "curl") {
			return
		}
	}
	dir := t.TempDir()
	config := exec.Command(self, "profiles", "models", "show", "llama-3.1-8b")
	config.Env = ownEnvironment(t)
	shown, err := config.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), shown, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "llmctl() { '"+self+"' \"$@\"; }; "+strings.Replace(command, "| man -l -", "", 1))
	cmd.Dir = dir
	cmd.Env = ownEnvironment(t)
	cmd.WaitDelay = time.Second // for a server that the shell leaves behind
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, &stderr)
	}
}
