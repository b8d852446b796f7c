package servermetrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/llmctl/llmctl/reports/record"
)

// ErrNothingNew means that the page is a server's, which did no step since it
// was read last.
var ErrNothingNew = errors.New("no step since the last reading")

// iteration is one step of TensorRT-LLM as /metrics of trtllm-serve lists it.
// Source: tensorrt_llm/serve/openai_server.py (get_iteration_stats) and the
// statistics of the executor (IterationStats, KvCacheStats).
type iteration struct {
	Active *float64 `json:"numActiveRequests"`
	Queued *float64 `json:"numQueuedRequests"`
	KV     *struct {
		Used *float64 `json:"usedNumBlocks"`
		Max  *float64 `json:"maxNumBlocks"`
	} `json:"kvCacheStats"`
}

// parseJSON takes the last of the steps that the server did since the page was
// read last.
func parseJSON(r io.Reader) (record.ServerSample, error) {
	s := record.UnknownSample()
	var steps []iteration
	if err := json.NewDecoder(r).Decode(&steps); err != nil {
		return s, fmt.Errorf("parsing a metrics page as the JSON of trtllm-serve: %w", err)
	}
	if len(steps) == 0 {
		return s, ErrNothingNew
	}
	last := steps[len(steps)-1]
	if last.Active != nil {
		s.Running = *last.Active
	}
	if last.Queued != nil {
		s.Waiting = *last.Queued
	}
	if kv := last.KV; kv != nil && kv.Used != nil && kv.Max != nil && *kv.Max > 0 {
		s.KVUsage = *kv.Used / *kv.Max
	}
	return s, nil
}
