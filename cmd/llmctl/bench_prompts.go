package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/tokenizer/hf"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/request"
	"github.com/llmctl/llmctl/profiles"
)

// promptsFlags are the flags of bench about what is sent: prompts and their lengths, formats.
type promptsFlags struct {
	tokenizer  string
	calibrate  string
	toolChoice string
	extra      string
	priority   []string
	cacheSalt  bool

	parsed     request.Prompts // all but the run's own
	vocabulary *hf.Tokenizer   // nil without one
}

// The choices of --calibrate.
const (
	calibrateAuto = "auto"
	calibrateOff  = "off"
)

func (f *promptsFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.tokenizer, "tokenizer", "", "tokenizer.json of the model, to count the tokens of prompts by, and of answers where the server does not")
	flags.StringVar(&f.calibrate, "calibrate", calibrateAuto, "auto finds out with a few requests before the run how many tokens a prompt has; off takes a word for a token")
	flags.StringVar(&f.toolChoice, "tool-choice", string(request.ToolsAuto), "of requests that offer tools: auto or required")
	flags.StringVar(&f.extra, "extra-body", "", `members to add to every request, e.g. '{"temperature":0.7}'`)
	flags.StringArrayVar(&f.priority, "priority", nil, "priority of a class of requests, e.g. batch=10 (vLLM with --scheduling-policy priority, lower first); repeatable")
	flags.BoolVar(&f.cacheSalt, "cache-salt", false, "send a cache_salt of this run, so that it starts with a cold prefix cache even for recorded prompts (vLLM)")
}

// apiNames are the dialects that bench speaks.
func apiNames() (names []string) {
	for _, api := range client.APIs() {
		names = append(names, string(api))
	}
	return names
}

// options adds to how requests go.
func (f *promptsFlags) options(o *client.Options) {
	if f.vocabulary != nil {
		o.CountTokens = f.vocabulary.Count
	}
}

// check refuses what contradicts itself.
func (f *promptsFlags) check(cmd *cobra.Command) (err error) {
	if !slices.Contains([]string{calibrateAuto, calibrateOff}, f.calibrate) {
		return fmt.Errorf("--calibrate: unknown choice %q, expected auto or off", f.calibrate)
	}
	f.parsed.ToolChoice = request.ToolChoice(f.toolChoice)
	if f.parsed.ToolChoice != request.ToolsAuto && f.parsed.ToolChoice != request.ToolsRequired {
		return fmt.Errorf("--tool-choice: unknown choice %q, expected auto or required", f.toolChoice)
	}
	if f.extra != "" {
		if f.parsed.Extra, err = request.ParseExtra(f.extra); err != nil {
			return fmt.Errorf("--extra-body: %w", err)
		}
	}
	if f.tokenizer != "" {
		if f.calibrate == calibrateOff {
			return errors.New("--tokenizer has no effect on prompts with --calibrate off; give one of them")
		}
		if f.vocabulary, err = hf.Read(f.tokenizer); err != nil {
			return fmt.Errorf("--tokenizer: %w; without it, prompts are calibrated by the server's usage", err)
		}
	}
	f.parsed.CacheSalt = f.cacheSalt
	f.parsed.ReplaceModel = cmd.Flags().Changed("served-model")
	f.parsed.Priority, err = parsePriorities(f.priority)
	return err
}

func parsePriorities(lines []string) (map[string]int, error) {
	priorities := map[string]int{}
	for _, line := range lines {
		class, text, ok := strings.Cut(line, "=")
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if class = strings.TrimSpace(class); !ok || err != nil || class == "" {
			return nil, fmt.Errorf("--priority %q, expected a class and a number such as batch=10", line)
		}
		if _, twice := priorities[class]; twice {
			return nil, fmt.Errorf("--priority names the class %q twice", class)
		}
		priorities[class] = n
	}
	return priorities, nil
}

// checkWorkload refuses what the workload and the dialect can not have together.
func (f *promptsFlags) checkWorkload(w *profiles.Workload, api client.API, bundled bool) error {
	for class := range f.parsed.Priority {
		if _, ok := w.Classes[class]; !ok {
			return fmt.Errorf("--priority: the workload has no class %q", class)
		}
	}
	typed := api == client.Chat || api == client.Responses
	switch {
	case bundled && api != client.Chat && api != client.Completions:
		return fmt.Errorf("the bundled engine does not speak --api %s; name a server that does with --endpoint", api)
	case w.Tools > 0 && !typed:
		return fmt.Errorf("the workload offers tools, which --api %s does not know; use chat or responses", api)
	case w.Schema > 0 && !typed:
		return fmt.Errorf("the workload demands JSON by a schema, which --api %s does not know; use chat or responses", api)
	case w.Tools == 0 && f.parsed.ToolChoice == request.ToolsRequired:
		return errors.New("--tool-choice required has no effect: the workload offers no tools")
	}
	return nil
}
