package accuracy

import (
	"context"
	"fmt"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/simulator/study"
	"github.com/llmctl/llmctl/sizing"
	plan "github.com/llmctl/llmctl/sizing/accuracy"
	"github.com/llmctl/llmctl/sizing/shape"
)

// saturation is what inference-sim/inference-sim issue 1121 states of a vLLM whose
// cache has room for about 68 whole requests: output tokens per second by clients. A
// simulator that counts what never ran, or finds in the cache what was evicted, shows
// forty times as much at the second load.
var saturation = []struct {
	clients  int
	measured float64
}{{256, 3086}, {1024, 2740}}

// The issue tells neither model nor lengths. This is a case with as much room: a
// model that leaves an H100 the cache for 68 requests of this many tokens in and out.
const (
	saturatedModel    = "qwen3-14b"
	saturatedDevice   = "h100-sxm-80gb"
	saturatedLength   = 2000
	saturatedRequests = 68
	saturatedGroup    = "saturation"
)

const saturatedName = "Inference-sim issue 1121: 256 and 1,024 clients on a cache for about 68 requests. " +
	"Model and lengths are not stated: qwen3-14b on an H100 with 2,000 tokens in and out is taken, which leaves as much room; at most 30 % is asked for"

// Saturation simulates the case with a number of requests for each client.
func Saturation(ctx context.Context, each int) ([]Figure, error) {
	model, err := profiles.LoadModel(saturatedModel)
	if err != nil {
		return nil, err
	}
	pool := saturatedRequests * 2 * saturatedLength * shape.KVBytesPerToken(model, shape.BF16, 1)
	length := profiles.Distribution{Kind: profiles.Fixed, Mean: saturatedLength}
	var figures []Figure
	for _, at := range saturation {
		r := plan.Run{Request: sizing.Request{
			Scenario: profiles.Scenario{Model: saturatedModel, Accelerator: saturatedDevice, Workload: profiles.Workload{Input: length, Output: length}},
			// Limits of vLLM on an H100 at that time; the cache holds less.
			MaxNumSeqs: 256, MaxNumBatchedTokens: 8192, KVCacheMemory: pool,
		}, Load: float64(at.clients)}
		m := method{apply: func(r plan.Run, q *study.Request) error {
			closedLoop(r, q)
			q.Length.Requests = each * int(r.Load)
			return nil
		}}
		got, err := simulate(ctx, r, m, nil)
		if err != nil {
			return nil, fmt.Errorf("simulating the saturation with %d clients: %w", at.clients, err)
		}
		figures = append(figures, Figure{
			Row: "—", Subject: fmt.Sprintf("%s, %s, vllm, room for %d requests of %d/%d", saturatedModel, saturatedDevice, saturatedRequests, saturatedLength, saturatedLength),
			Column: "output_tok_s", Group: saturatedGroup, Load: r.Load, Measured: at.measured, Simulated: got["output_tok_s"], Tested: true,
		})
	}
	return figures, nil
}

// saturationBar is how far the case may be off, model and lengths of the measured one
// being unknown.
const saturationBar = 0.3
