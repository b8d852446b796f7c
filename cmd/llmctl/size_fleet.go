package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// fleetFlags say how many replicas there may be, and of which kinds.
type fleetFlags struct {
	transfer string
}

func (f *fleetFlags) add(cmd *cobra.Command, r *sizing.Request) {
	flags := cmd.Flags()
	countVar(flags, &r.Count, "count", "accelerators at hand: plan what they carry (default: as many as it takes)")
	countVar(flags, &r.Spare, "spare", "replicas that may fail while the load is still carried within the target; 1 is N+1")
	flags.BoolVar(&r.Disaggregate, "disaggregate", false, "also size separate pools for prefill and decode, and compare")
	flags.StringVar(&f.transfer, "transfer-bandwidth", "", "what an accelerator of a prefill pool sends, e.g. 50GB/s (default: its link, at most 50GB/s)")
}

// apply reads what is not a plain number.
func (f *fleetFlags) apply(cmd *cobra.Command, r *sizing.Request) error {
	if !cmd.Flags().Changed("transfer-bandwidth") {
		return nil
	}
	bytes, err := units.ParseBandwidth(f.transfer)
	if err != nil {
		return usagef("--transfer-bandwidth: %w", err)
	}
	if bytes < 1 {
		return usage(fmt.Errorf("--transfer-bandwidth %s is no bandwidth, expected one such as 50GB/s", f.transfer))
	}
	r.TransferBandwidth = bytes
	return nil
}
