package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// stackReady is the one line that the stack prints when it can be used.
type stackReady struct {
	Endpoint string `json:"endpoint"` // of the gateway
	Metrics  string `json:"metrics"`  // of the engine
	Model    string `json:"model"`    // alias on the wire
	Device   string `json:"device"`
}

// stackKeyEnv is the environment variable that holds the key of the stack's one
// tenant, so that no key stands on a command line.
const stackKeyEnv = "LLMCTL_STACK_KEY"

// newStack is the child process of bench: the gateway in front of the engine on
// free loopback ports. It ends when its standard input does, which the death of
// the parent brings about too.
func newStack(s *iostreams.IO) *cobra.Command {
	var flags engineFlags
	cmd := &cobra.Command{
		Use:    "stack",
		Short:  "Run gateway and engine together on free loopback ports, for bench",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			yieldPriority()
			key := s.Env(stackKeyEnv)
			if key == "" {
				return usagef("%s is not set", stackKeyEnv)
			}
			v, err := flags.open(s)
			if err != nil {
				return err
			}
			defer v.close()
			return runStack(s, v, key)
		},
	}
	flags.add(cmd)
	return cmd
}

func runStack(s *iostreams.IO, v *servedModel, key string) error {
	const loopback = "127.0.0.1:0"
	behind, err := listen(loopback, v.handler())
	if err != nil {
		return err
	}
	g, err := gateway.New(stackConfig(behind.url(), v.name(), key), gateway.Options{
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer g.Close()
	front, err := listen(loopback, g.Handler())
	if err != nil {
		return err
	}
	ready, err := json.Marshal(stackReady{front.url(), behind.url() + "/metrics", v.name(), v.flags.device})
	if err != nil {
		return fmt.Errorf("announcing the stack: %w", err)
	}
	if _, err := fmt.Fprintf(s.Out, "%s\n", ready); err != nil {
		return fmt.Errorf("announcing the stack: %w", err)
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, s.In) // any end of the input is the end
	}()
	// The parent decides when it is over: a Ctrl-C in the terminal reaches the
	// child too, and must not take the target away under a draining run.
	alone := *s
	alone.Interrupts = func() <-chan os.Signal { return nil }
	return serveUntil(stop, &alone, time.Second, g.Drain, front, behind)
}

// stackConfig is a gateway for one tenant without limits, which leaves nothing
// behind on the disk.
func stackConfig(engineURL, model, key string) *config.Config {
	return &config.Config{
		Listen:    "127.0.0.1:0",
		Store:     config.Store{Usage: config.StoreNone},
		Tenants:   []config.Tenant{{Name: "bench", Keys: []config.Key{{Hash: config.HashKey(key)}}}},
		Providers: []config.Provider{{Name: "engine", Kind: "openai", Endpoints: []string{engineURL}}},
		Models:    []config.Model{{Alias: model, Targets: []config.Target{{Provider: "engine", Model: model}}}},
	}
}
