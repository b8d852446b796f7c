package sizing

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// row is one start-up log of a real engine: what it was told, and the sizes it
// logged. The logs are public (llm-d-planner's accuracy results for vLLM 0.19.0
// and others named in the issue trackers of vLLM).
type row map[string]string

func (r row) number(t *testing.T, name string) float64 {
	t.Helper()
	if r[name] == "" {
		return 0
	}
	v, err := strconv.ParseFloat(r[name], 64)
	if err != nil {
		t.Fatalf("row %s: %s %q: %v", r["id"], name, r[name], err)
	}
	return v
}

func (r row) request(t *testing.T) Request {
	return Request{
		Scenario: profiles.Scenario{
			Model: r["model"], Accelerator: r["accelerator"], Engine: r["engine"],
			Parallel: profiles.Parallel{Tensor: int(r.number(t, "tp"))},
		},
		WeightDType:          r["weights"],
		KVDType:              r["kv_dtype"],
		GPUMemoryUtilization: r.number(t, "utilization"),
		BlockSize:            int(r.number(t, "block_size")),
		MaxModelLen:          int(r.number(t, "max_model_len")),
		MaxNumSeqs:           int(r.number(t, "max_num_seqs")),
		MaxNumBatchedTokens:  int(r.number(t, "max_num_batched_tokens")),
	}
}

func readRows(t *testing.T, path string) []row {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, record := range records[1:] {
		r := row{}
		for i, name := range records[0] {
			r[name] = record[i]
		}
		rows = append(rows, r)
	}
	return rows
}

func TestTokensOfLoggedPools(t *testing.T) {
	for _, r := range readRows(t, "testdata/kv_reported.csv") {
		t.Run(r["id"]+" "+r["model"], func(t *testing.T) {
			request := r.request(t)
			request.KVCacheMemory = int64(r.number(t, "pool_gib") * (1 << 30))
			if request.MaxModelLen == 0 {
				request.MaxModelLen = 4096 // the log does not say; tokens do not depend on it
			}
			plan, err := Compute(request)
			if err != nil {
				t.Fatal(err)
			}
			// The log rounds the pool to 0.01 GiB, which is all there is to
			// tell it from ours; pools of a few GiB round by more.
			tolerance := math.Max(0.002, 0.006/r.number(t, "pool_gib"))
			if got, want := float64(plan.Memory.KVCacheTokens), r.number(t, "tokens"); math.Abs(got/want-1) > tolerance {
				t.Errorf("%v tokens, the engine logged %v", got, want)
			}
			if want := r.number(t, "concurrency"); want > 0 && math.Abs(plan.Memory.MaxConcurrency/want-1) > tolerance+0.005/want {
				t.Errorf("max concurrency %v, the engine logged %v", plan.Memory.MaxConcurrency, want)
			}
		})
	}
}

func TestPoolsEndToEnd(t *testing.T) {
	var errors []float64
	for _, r := range readRows(t, "testdata/kv_reported.csv") {
		s, err := resolve(r.request(t))
		if err != nil {
			t.Fatal(err)
		}
		m := s.plannedMemory()
		want := r.number(t, "pool_gib")
		off := math.Abs(float64(m.KVCacheBytes)/(1<<30)/want - 1)
		errors = append(errors, off)
		t.Logf("%-4s %-22s tp%s %-9s pool %.2f GiB, logged %.2f (%+.1f%%)", r["id"], r["model"], r["tp"], r["weights"],
			float64(m.KVCacheBytes)/(1<<30), want, 100*(float64(m.KVCacheBytes)/(1<<30)/want-1))
	}
	slices.Sort(errors)
	if median := errors[len(errors)/2]; median > 0.02 {
		t.Errorf("median error %.3f, want at most 0.02", median)
	}
	if p90 := errors[len(errors)*9/10]; p90 > 0.08 {
		t.Errorf("90th percentile of the error %.3f, want at most 0.08", p90)
	}
}
