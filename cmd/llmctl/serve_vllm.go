package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// neutralFlag is a flag of vLLM's that means nothing here. It is taken, so that a
// command line for vLLM works, as long as its value asks for nothing.
type neutralFlag struct {
	name    string
	values  []string // that ask for nothing; nil: all do
	boolean bool
	instead string // what to do for another value
}

const oneDevice = "this engine runs on one device; --device modeled:ACCELERATOR --tp N imitates more, and llmctl gateway spreads load over several servers"

// neutralFlags are those that people have on their command lines of vLLM.
var neutralFlags = []neutralFlag{
	{name: "pipeline-parallel-size", values: []string{"1"}, instead: oneDevice},
	{name: "data-parallel-size", values: []string{"1"}, instead: oneDevice},
	{name: "enable-expert-parallel", boolean: true},
	{name: "distributed-executor-backend"},
	{name: "load-format", values: []string{"auto", "safetensors", "gguf"}, instead: "safetensors and GGUF are read"},
	{name: "tokenizer-mode", values: []string{"auto", "slow", "hf"}, instead: "tokenizer.json and GGUF vocabularies are read"},
	{name: "config-format", values: []string{"auto", "hf"}, instead: "config.json is read"},
	{name: "task", values: []string{"auto", "generate"}, instead: "only text is generated"},
	{name: "runner", values: []string{"auto", "generate"}, instead: "only text is generated"},
	{name: "trust-remote-code", boolean: true}, // none is run
	{name: "enforce-eager", boolean: true},
	{name: "disable-custom-all-reduce", boolean: true},
	{name: "disable-log-requests", boolean: true},
	{name: "no-enable-log-requests", boolean: true},
	{name: "disable-uvicorn-access-log", boolean: true},
	{name: "disable-fastapi-docs", boolean: true},
	{name: "uvicorn-log-level"},
	{name: "compilation-config"},
	{name: "max-seq-len-to-capture"},
	{name: "guided-decoding-backend"},
	{name: "structured-outputs-config"},
	{name: "swap-space"},
	{name: "cpu-offload-gb", values: []string{"0"}, instead: "weights are in the memory of the CPU already"},
	{name: "max-logprobs", values: []string{"20"}, instead: "20 is the bound"},
	{name: "enable-lora", values: []string{"false"}, boolean: true, instead: "LoRA adapters are not supported, merge them into the weights"},
	{name: "lora-modules", values: []string{}, instead: "LoRA adapters are not supported, merge them into the weights"},
	{name: "limit-mm-per-prompt", values: []string{}, instead: "only text is read"},
	{name: "enable-sleep-mode", values: []string{"false"}, boolean: true, instead: "end the server and start it again: that takes less than a second"},
	{name: "hf-overrides", values: []string{"{}"}, instead: "edit config.json"},
	{name: "revision", values: []string{}, instead: "nothing is downloaded: name a folder or a .gguf file"},
	{name: "download-dir"},
}

// addNeutral adds them where people do not see them.
func addNeutral(flags *pflag.FlagSet) {
	for i := range neutralFlags {
		f := &neutralFlags[i]
		flag := flags.VarPF(f, f.name, "", "vLLM's; means nothing here")
		if f.boolean {
			flag.NoOptDefVal = "true"
		}
		flag.Hidden = true
	}
}

// Set implements pflag.Value.
func (f *neutralFlag) Set(value string) error {
	if f.values == nil || slices.Contains(f.values, strings.ToLower(value)) {
		return nil
	}
	return errors.New(f.instead)
}

// String implements pflag.Value.
func (f *neutralFlag) String() string { return "" }

// Type implements pflag.Value.
func (f *neutralFlag) Type() string {
	if f.boolean {
		return "bool"
	}
	return "string"
}

// turnedOff is a flag without a value that turns another off.
type turnedOff struct{ what *bool }

// Set implements pflag.Value.
func (v turnedOff) Set(value string) error {
	switch strings.ToLower(value) {
	case "true":
		*v.what = false
	case "false":
		*v.what = true
	default:
		return fmt.Errorf("expected true or false, got %q", value)
	}
	return nil
}

// String implements pflag.Value.
func (v turnedOff) String() string { return "false" }

// Type implements pflag.Value.
func (turnedOff) Type() string { return "bool" }

func addTurnedOff(flags *pflag.FlagSet, name string, what *bool) {
	flag := flags.VarPF(turnedOff{what}, name, "", "turn --"+strings.TrimPrefix(name, "no-")+" off")
	flag.NoOptDefVal = "true"
}
