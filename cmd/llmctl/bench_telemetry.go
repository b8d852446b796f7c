package main

import "github.com/spf13/cobra"

// telemetryFlags are the flags of bench about what is observed beside the requests.
type telemetryFlags struct{}

func (f *telemetryFlags) add(*cobra.Command) {}

// check refuses what contradicts itself.
func (f *telemetryFlags) check(*cobra.Command) error { return nil }
