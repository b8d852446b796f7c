package sizing

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

func TestJSONHasTheContractsKeys(t *testing.T) {
	p := mustCompute(t, Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{Arrival: rps(200)}}})
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for section, keys := range map[string]string{
		"": "schema feasible inputs model memory performance plan derivation warnings assumptions",
		"inputs": "model accelerator engine tensor_parallel pipeline_parallel weight_dtype kv_dtype rps input_tokens output_tokens prefix_hit_rate " +
			"gpu_memory_utilization block_size max_model_len max_num_seqs slo target_utilization usd_per_accelerator_hour price_date",
		"model":       "parameters active_parameters kv_bytes_per_token",
		"memory":      "weights_bytes activation_bytes non_torch_bytes cuda_graph_bytes kv_cache_bytes kv_cache_blocks kv_cache_tokens max_concurrency",
		"performance": "ttft_s tpot_s e2e_s batch prefill_tokens_per_s output_tokens_per_s max_rps bound error",
		"plan":        "replicas accelerators utilization usd_per_hour usd_per_1m_input_tokens usd_per_1m_output_tokens usd_per_1m_total_tokens",
	} {
		object := got
		if section != "" {
			object = got[section].(map[string]any)
		}
		for key := range strings.FieldsSeq(keys) {
			if _, ok := object[key]; !ok {
				t.Errorf("%s.%s is missing", section, key)
			}
		}
	}
	for _, d := range p.Derivation {
		if d.Name == "" || d.Formula == "" || d.Source == "" || math.IsNaN(d.Value) {
			t.Errorf("derivation %+v", d)
		}
	}
}
