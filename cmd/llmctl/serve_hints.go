package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// strangers are flags of vllm serve and of llama.cpp's llama-server that serve lacks, with
// what to do in their place.
var strangers = map[string]string{
	"--config":                       "flags are read from LLMCTL_* variables and from llmctl/config.yaml of the user's configuration folder",
	"--allowed-origins":              "no headers for other origins are sent: put a proxy in front that does",
	"--allowed-methods":              "no headers for other origins are sent: put a proxy in front that does",
	"--allowed-headers":              "no headers for other origins are sent: put a proxy in front that does",
	"--root-path":                    "paths begin with /v1: a proxy in front can take a prefix away",
	"--rope-scaling":                 "it is read from config.json: edit it there",
	"--rope-theta":                   "it is read from config.json: edit it there",
	"--chat-template-content-format": "it is told by the template",
	"--uvicorn-log-level":            "use --quiet",
	"--max-log-len":                  "requests are not logged",
	"--ssl-keyfile":                  tlsInstead,
	"--ssl-certfile":                 tlsInstead,
	"--ssl-ca-certs":                 tlsInstead,
	"--ssl-cert-reqs":                tlsInstead,
	"--ssl-key-file":                 tlsInstead,
	"--ssl-cert-file":                tlsInstead,
	"-tp":                            "use --tp, on a modeled device",
	"-pp":                            oneDevice,
	"-dp":                            oneDevice,
	"-q":                             "use a .gguf file of the format, such as Q8_0",
	"-m":                             "use --model",
	"-c":                             "use --max-model-len, and --kv-cache-memory for the cache of all requests",
	"--ctx-size":                     "use --max-model-len, and --kv-cache-memory for the cache of all requests",
	"-np":                            "use --max-num-seqs",
	"--parallel":                     "use --max-num-seqs",
	"-ngl":                           "this build has no GPU executor: all layers run on the CPU",
	"--n-gpu-layers":                 "this build has no GPU executor: all layers run on the CPU",
	"--gpu-layers":                   "this build has no GPU executor: all layers run on the CPU",
	"-t":                             "use --workers",
	"--threads":                      "use --workers",
	"-b":                             "use --max-num-batched-tokens",
	"--batch-size":                   "use --max-num-batched-tokens",
	"-ub":                            "use --max-num-batched-tokens",
	"-cb":                            "batching is always continuous",
	"--cont-batching":                "batching is always continuous",
	"-fa":                            "attention never stores its scores",
	"--flash-attn":                   "attention never stores its scores",
	"-ctk":                           "use --kv-cache-dtype",
	"--cache-type-k":                 "use --kv-cache-dtype",
	"-ctv":                           "use --kv-cache-dtype",
	"--cache-type-v":                 "use --kv-cache-dtype",
	"-md":                            "use --speculative-model",
	"--model-draft":                  "use --speculative-model",
	"-a":                             "use --served-model-name",
	"--alias":                        "use --served-model-name",
	"--jinja":                        "chat templates are always rendered",
}

const tlsInstead = "this server speaks no TLS: llmctl gateway does, as does any proxy in front"

// serveFlagError says what to do in place of a flag that other servers have, and why a
// value of vLLM's is not supported, each in one line.
func serveFlagError(cmd *cobra.Command, err error) error {
	name := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name = "--" + unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name, _, _ = strings.Cut("-"+short, "=")
		}
	}
	if instead := strangers[name]; instead != "" {
		return usagef("%s is not a flag of this server: %s", name, instead)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if _, ok := invalid.GetFlag().Value.(*neutralFlag); ok {
			return usagef("--%s %s: %w", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
		}
	}
	return flagError(cmd, err)
}

// oneModel takes at most the model. Values that other servers take behind a space are not
// taken for one.
func oneModel(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if value := strings.ToLower(arg); value == "true" || value == "false" {
			return usagef("%q stands alone: a switch takes its value behind =, as in --%s=%s", arg, changedSwitch(cmd.Flags()), value)
		}
	}
	named := cmd.Flags().Lookup("served-model-name")
	if asked := cmd.Flags().Changed("model"); len(args) > 1 || len(args) == 1 && asked {
		if named.Changed {
			return usagef("more than one model, of which %q may be a name: --served-model-name takes several with commas between, as in a,b", args[len(args)-1])
		}
		if !asked {
			return fmt.Errorf("%d models, expected one", len(args))
		}
	}
	return nil
}

// changedSwitch is a switch that was given, by which a value may stand.
func changedSwitch(flags *pflag.FlagSet) (name string) {
	name = "enable-prefix-caching"
	flags.Visit(func(f *pflag.Flag) {
		if f.NoOptDefVal != "" {
			name = f.Name
		}
	})
	return name
}
