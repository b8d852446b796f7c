package main

import "github.com/spf13/cobra"

// phasesFlags are the flags of bench about the course of a run: arrivals, sessions, rules that end it.
type phasesFlags struct{}

func (f *phasesFlags) add(*cobra.Command) {}

// check refuses what contradicts itself.
func (f *phasesFlags) check(*cobra.Command) error { return nil }
