package sizing

import (
	"sync"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Preload reads the embedded data that a plan needs on several cores at once. It
// changes no result: each part is read once, when it is first asked for, and
// most of the time of a single plan is that reading.
func Preload() {
	var wg sync.WaitGroup
	for _, read := range []func(){
		func() { cost.Table() },
		func() { profiles.EngineNames() },
		func() { profiles.AcceleratorNames() },
		func() { profiles.ModelNames() },
	} {
		wg.Go(read)
	}
	wg.Wait()
}
