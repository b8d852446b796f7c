package model

import "github.com/llmctl/llmctl/engine/kv"

// Sequence is one request's part of a step, as an executor sees it.
type Sequence struct {
	Tokens []int32    // tokens to run: those at Start … Start+len(Tokens)−1
	Start  int        // tokens before them, whose K and V are in the cache
	Blocks []kv.Block // block table that covers all of them

	Sample    bool     // produce the token after the last one
	Sampling  Sampling // how
	Forbidden []int32  // tokens that must not be sampled in this step
	Next      int32    // result; the executor sets it when Sample is true
}
