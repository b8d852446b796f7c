package main

import (
	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// moneyFlags say what the money of a plan is compared with.
type moneyFlags struct{ loadProfile, apiPrice string }

func (f *moneyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.loadProfile, "load-profile", "", "load by hour of the day: 24 values with commas (shares of the peak, or rates), a file of 24 lines, flat, office or evening")
	cmd.Flags().StringVar(&f.apiPrice, "api-price", "", "compare with a hosted API, in dollars per 1M tokens: in=0.15,out=0.60 and cached=…")
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return profiles.LoadProfileNames(), cobra.ShellCompDirectiveDefault // files serve too
	}
	_ = cmd.RegisterFlagCompletionFunc("load-profile", complete) // fails only for a flag that is not there
}

// apply reads the flags into a request.
func (f *moneyFlags) apply(cmd *cobra.Command, r *sizing.Request) (err error) {
	if cmd.Flags().Changed("load-profile") {
		if r.LoadProfile, err = profiles.LoadLoadProfile(f.loadProfile); err != nil {
			return usagef("--load-profile: %w", err)
		}
	}
	if cmd.Flags().Changed("api-price") {
		if r.APIPrice, err = profiles.ParseAPIPrice(f.apiPrice); err != nil {
			return usagef("--api-price: %w", err)
		}
	}
	return nil
}
