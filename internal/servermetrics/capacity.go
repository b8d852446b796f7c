package servermetrics

import (
	"bytes"
	"io"
	"math"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// How engines export the size of their KV cache: blocks and tokens per block as
// labels of one series, or as values of two. The names are those of the Gateway
// API Inference Extension's model server protocol (proposal 003), with the older
// ones of SGLang beside them; cacheTokens are names of the product.
var (
	cacheInfo = []struct{ name, blocks, size string }{
		{"vllm:cache_config_info", "num_gpu_blocks", "block_size"},
		{"sglang:cache_config_info", "num_pages", "page_size"},
	}
	cacheValues = []struct{ blocks, size string }{
		{"trtllm_kv_cache_max_blocks", "trtllm_kv_cache_tokens_per_block"},
		{"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=max}", "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=tokens_per}"},
	}
	cacheTokens = []string{"sglang:max_total_num_tokens"}
)

var capacityNames = func() map[string]bool {
	set := map[string]bool{}
	add := func(name string) {
		base, _, _, _ := splitName(name)
		set[plain(base)] = true
	}
	for _, c := range cacheInfo {
		add(c.name)
	}
	for _, c := range cacheValues {
		add(c.blocks)
		add(c.size)
	}
	for _, name := range cacheTokens {
		add(name)
	}
	return set
}()

// Capacity returns how many tokens the KV caches of a Prometheus page's engines
// hold together; ok is false when the page does not say.
func Capacity(page []byte) (tokens int64, ok bool) {
	var wanted bytes.Buffer
	for line := range bytes.Lines(page) {
		if name, about := nameOf(line); about && capacityNames[plain(name)] {
			wanted.Write(line)
			if line[len(line)-1] != '\n' {
				wanted.WriteByte('\n')
			}
		}
	}
	if wanted.Len() == 0 {
		return 0, false
	}
	families, err := parseText(&wanted)
	if err != nil {
		return 0, false
	}
	total := newPage(families, "").capacity()
	if !(total >= 1) || total > 1<<40 {
		return 0, false
	}
	return int64(total), true
}

func parseText(r io.Reader) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(r)
}

func (p *page) capacity() float64 {
	for _, c := range cacheInfo {
		total := 0.0
		for _, m := range p.series(c.name) {
			total += labelNumber(m, c.blocks) * labelNumber(m, c.size)
		}
		if total > 0 {
			return total
		}
	}
	for _, c := range cacheValues {
		if total := p.number([]string{c.blocks}, false) * p.number([]string{c.size}, true); total > 0 {
			return total
		}
	}
	return p.number(cacheTokens, false)
}

// labelNumber is the number that a label holds; 0 when it holds none, such as
// vLLM's "None" before the cache is laid out.
func labelNumber(m *dto.Metric, name string) float64 {
	v, err := strconv.ParseFloat(label(m, name), 64)
	if err != nil || math.IsNaN(v) || v < 0 {
		return 0
	}
	return v
}
