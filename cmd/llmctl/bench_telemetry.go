package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/loadgen/client"
)

// telemetryFlags are the flags of bench about what is observed beside the requests.
type telemetryFlags struct {
	pages []string // metrics pages of the target
}

func (f *telemetryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.pages, "metrics-url", nil, "metrics page of the target, one for each of its servers; repeatable (default: /metrics beside /v1)")
}

// check refuses what contradicts itself.
func (f *telemetryFlags) check(*cobra.Command) error {
	for _, page := range f.pages {
		if err := checkPage(page); err != nil {
			return fmt.Errorf("--metrics-url %s: %w", client.PublicURL(page), err)
		}
	}
	return nil
}

func checkPage(page string) error {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("expected an address like http://localhost:8000/metrics")
	}
	return nil
}
