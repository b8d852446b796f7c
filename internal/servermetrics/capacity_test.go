package servermetrics

import "testing"

func TestCapacity(t *testing.T) {
	tests := []struct {
		name, page string
		want       int64
	}{
		{"vLLM says it in labels", `vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="2048"} 1`, 32768},
		{"two engines add up", "vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"100\"} 1\nvllm:cache_config_info{block_size=\"16\",engine=\"1\",num_gpu_blocks=\"50\"} 1\n", 2400},
		{"not laid out yet", `vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1`, 0},
		{"through Ray", `ray_vllm_cache_config_info{block_size="16",num_gpu_blocks="10"} 1`, 160},
		{"SGLang's labels", `sglang:cache_config_info{page_size="1",num_pages="4096"} 1`, 4096},
		{"SGLang's gauge", `sglang:max_total_num_tokens{model_name="m"} 20000`, 20000},
		{"trtllm-serve", "trtllm_kv_cache_max_blocks 1000\ntrtllm_kv_cache_tokens_per_block 32\n", 32000},
		{"Triton", "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"} 100\nnv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"tokens_per\"} 64\n", 6400},
		{"blocks of unknown size", "trtllm_kv_cache_max_blocks 1000\n", 0},
		{"nothing of it", "vllm:num_requests_running 3\n", 0},
		{"garbage", "vllm:cache_config_info{{{ 1\n", 0},
		{"nonsense", `vllm:cache_config_info{block_size="1e300",num_gpu_blocks="1e300"} 1`, 0},
		{"JSON", `[{"iter":1}]`, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := Capacity([]byte(test.page))
			if got != test.want || ok != (test.want > 0) {
				t.Errorf("%d tokens, %v; want %d", got, ok, test.want)
			}
		})
	}
}

func FuzzCapacity(f *testing.F) {
	f.Add([]byte(`vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="2048"} 1`))
	f.Add([]byte("trtllm_kv_cache_max_blocks 1000\ntrtllm_kv_cache_tokens_per_block 32\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		if tokens, ok := Capacity(page); ok != (tokens > 0) {
			t.Errorf("%d tokens, %v", tokens, ok)
		}
	})
}
