package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// memoryFlags are amounts of memory, which are written with a unit.
type memoryFlags struct{ pool, accelerator string }

func (f *memoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.pool, "kv-cache-memory", "", "take this pool per accelerator, e.g. 58GiB, and skip the memory model")
	cmd.Flags().StringVar(&f.accelerator, "accelerator-memory", "", "memory of one accelerator, e.g. 79.19GiB as the engine logs it (default: the accelerator's)")
}

// apply reads the flags that were given into the request; Compute takes a zero
// for "not said".
func (f *memoryFlags) apply(cmd *cobra.Command, r *sizing.Request) error {
	for _, flag := range []struct {
		name, text string
		target     *int64
	}{
		{"kv-cache-memory", f.pool, &r.KVCacheMemory}, {"accelerator-memory", f.accelerator, &r.AcceleratorMemory},
	} {
		if !cmd.Flags().Changed(flag.name) {
			continue
		}
		if flag.text == "" {
			return fmt.Errorf("--%s is empty, expected a size such as 58GiB", flag.name)
		}
		bytes, err := units.ParseBytes(flag.text)
		if err != nil {
			return fmt.Errorf("--%s: %w", flag.name, err)
		}
		if bytes == 0 {
			return fmt.Errorf("--%s %s is not more than 0", flag.name, flag.text)
		}
		*flag.target = bytes
	}
	return nil
}
