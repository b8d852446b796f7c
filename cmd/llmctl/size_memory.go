package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// memoryFlags are the memory of an accelerator, which is written with a unit.
type memoryFlags struct{ accelerator string }

func (f *memoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.accelerator, "accelerator-memory", "", "memory of one accelerator, e.g. 79.19GiB as the engine logs it (default: the accelerator's)")
}

// apply reads the flag, if it was given, into the request; Compute takes a zero for
// "not said".
func (f *memoryFlags) apply(cmd *cobra.Command, r *sizing.Request) error {
	if !cmd.Flags().Changed("accelerator-memory") {
		return nil
	}
	bytes, err := units.ParseBytes(f.accelerator)
	if err == nil && bytes == 0 {
		err = fmt.Errorf("%s is not more than 0", f.accelerator)
	}
	if err != nil {
		return fmt.Errorf("--accelerator-memory: %w", err)
	}
	r.AcceleratorMemory = bytes
	return nil
}
