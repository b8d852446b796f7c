package main

import "github.com/spf13/cobra"

// clientFlags are the flags of bench about how requests travel: protocol, certificates, ports.
type clientFlags struct{}

func (f *clientFlags) add(*cobra.Command) {}

// check refuses what contradicts itself.
func (f *clientFlags) check(*cobra.Command) error { return nil }
