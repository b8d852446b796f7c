package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/gateway"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/userfile"
)

func newGateway(s *iostreams.IO) *cobra.Command {
	var (
		path  string
		check bool
		grace time.Duration
	)
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run the gateway: keys, tenants, limits and routing",
		Long: `Run the gateway. Its log, one JSON line per request, goes to standard error.
docs/gateway.md explains the configuration.`,
		Example: `  llmctl gateway --config gateway.yaml
  llmctl gateway --config gateway.yaml --check`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if grace < 0 {
				return usagef("--grace %s is negative", grace)
			}
			if path == "" {
				return usagef("--config is missing, expected a file such as examples/gateway.yaml")
			}
			data, err := userfile.Read(path, userfile.YAMLLimit)
			if err != nil {
				return usagef("reading the configuration: %w", err)
			}
			c, err := config.Parse(data)
			if err != nil {
				return usagef("%s: %w", path, err)
			}
			log := slog.New(slog.NewJSONHandler(s.Err, nil))
			g, err := gateway.New(c, gateway.Options{
				Logger: log,
				LookupEnv: func(name string) (string, bool) {
					value := s.Env(name)
					return value, value != ""
				},
			})
			if err != nil {
				return usagef("%s: %w", path, err)
			}
			defer g.Close()
			if check {
				_, err := fmt.Fprintf(s.Out, "%s is fine: %d tenants, %d models, %d providers\n",
					path, len(c.Tenants), len(c.Models), len(c.Providers))
				return err
			}
			return runGateway(s, c, g, log, grace)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "configuration file (YAML)")
	cmd.Flags().BoolVar(&check, "check", false, "check the configuration and end")
	cmd.Flags().DurationVar(&grace, "grace", 30*time.Second, "time that running requests have to end after Ctrl-C")
	return cmd
}

func runGateway(s *iostreams.IO, c *config.Config, g *gateway.Gateway, log *slog.Logger, grace time.Duration) error {
	api, err := listen(c.Listen, g.Handler())
	if err != nil {
		return err
	}
	listeners := []*listener{api}
	log.Info("listening", "url", api.url()+"/v1")
	if c.Admin.Listen != "" {
		admin, err := listen(c.Admin.Listen, g.AdminHandler())
		if err != nil {
			_ = api.Close()
			return err
		}
		listeners = append(listeners, admin)
		log.Info("listening", "url", admin.url()+"/metrics")
	}
	return serveUntil(nil, s, grace, g.Drain, listeners...)
}
