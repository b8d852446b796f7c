package accuracy

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// bounds are what a figure of each column may be; more is no figure of an
// accelerator, and would not fit a whole number. Columns that count ranks may be 0,
// for none.
var bounds = map[string]struct{ low, high float64 }{
	"memory_bytes": {1e6, 1e15}, "gpu_memory_utilization": {0, 1}, "free_gpu_memory_fraction": {0, 1},
	"tp": {0, 1e6}, "pp": {0, 1e6}, "dp": {0, 1e6}, "dp_attn": {0, 1e6}, "ep": {0, 1e6},
	"block_size": {1, 1e6}, "max_model_len": {1, 1e9}, "max_seq_len": {1, 1e9},
	"max_num_seqs": {1, 1e9}, "max_num_batched_tokens": {1, 1e9},
	"available_kv_gib_per_gpu": {1e-3, 1e6}, "model_load_gib_per_gpu": {1e-3, 1e6},
	"kv_tokens": {1, 1e15}, "num_gpu_blocks": {1, 1e15}, "max_concurrency_x": {1e-3, 1e9},
	"measured_max_concurrent_seqs": {1, 1e9}, "total_params": {1, 1e15},
	"isl": {1, 1e9}, "osl": {1, 1e9}, "tpot_ms_mean": {1e-3, 1e9}, "ttft_ms_mean": {0, 1e9},
	"load_value": {1e-6, 1e9}, "request_rate_measured": {1e-6, 1e9},
}

// signedNumber is what a field has for a figure, with its sign when it begins there,
// and what a program writes for none.
var (
	signedNumber = regexp.MustCompile(`(^-)?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)
	notFinite    = regexp.MustCompile(`(?i)^[+-]?(nan|inf|infinity)$`)
)

// check refuses figures that a comparison can not be made with.
func (r record) check() error {
	for column, b := range bounds {
		text := r[column]
		if notFinite.MatchString(text) {
			return fmt.Errorf("%s %q is not a finite number", column, text)
		}
		number := signedNumber.FindString(text)
		if number == "" {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsInf(v, 0) || v < b.low || v > b.high {
			return fmt.Errorf("%s %q is outside %g to %g", column, text, b.low, b.high)
		}
	}
	return nil
}
