package main

import "github.com/spf13/cobra"

// promptsFlags are the flags of bench about what is sent: prompts and their lengths, formats.
type promptsFlags struct{}

func (f *promptsFlags) add(*cobra.Command) {}

// check refuses what contradicts itself.
func (f *promptsFlags) check(*cobra.Command) error { return nil }
