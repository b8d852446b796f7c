package accuracy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBars holds the published bars on the built-in data.
func TestBars(t *testing.T) {
	d, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	checks, err := All(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !c.Held {
			t.Errorf("%s: %s, bar %s, %s left out", c.Name, c.Summary, c.Bar, percent(c.ExcludedShare()))
		}
	}
	page, err := os.ReadFile("../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), Markdown(checks)); diff != "" {
		t.Errorf("docs/accuracy.md is not what the checks say, run make accuracy (-have +want):\n%s", diff)
	}
}

// write makes a folder of data with one file.
func write(t *testing.T, name, text string) Data {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const header = "id,runnable,checks,duplicate_of,model_key,accelerator_key,memory_bytes,weight_format,engine_key," +
	"tp,pp,dp,max_model_len,gpu_memory_utilization,kv_dtype,block_size,available_kv_gib_per_gpu," +
	"kv_tokens,num_gpu_blocks,max_concurrency_x,model_load_gib_per_gpu,max_num_seqs,max_num_batched_tokens\n"

func TestPoolOfAFolder(t *testing.T) {
	d := write(t, "kv_reported.csv", header+
		"91,yes,weights kv_gib kv_tokens concurrency,,llama-3.1-8b,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,8192,0.95,auto,16,58.11,476000,29750,58.11,14.99,1024,8192\n"+
		"92,yes,kv_gib kv_tokens,,llama-3.1-8b,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,8192,0.95 (said),auto,16,50,400000,,,,1024,8192\n"+
		"93,no,kv_gib,,llama-3.1-8b,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,8192,0.95,auto,16,50,,,,,,\n"+
		"94,yes,kv_gib,91,llama-3.1-8b,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,8192,0.95,auto,16,50,,,,,,\n"+
		"95,yes,kv_gib,,no-such-model,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,8192,0.95,auto,16,50,,,,,,\n")
	checks, err := All(d)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, c := range checks {
		if len(c.Rows) == 0 {
			if c.verdict() != "no rows" {
				t.Errorf("%s is %s without rows", c.Name, c.verdict())
			}
			continue
		}
		for _, r := range c.Rows {
			got[c.Name] = append(got[c.Name], r.ID)
		}
		if len(c.Excluded) != 1 || c.Excluded[0].ID != "95" || !strings.Contains(c.Excluded[0].Reason, "no-such-model") {
			t.Errorf("%s leaves out %+v", c.Name, c.Excluded)
		}
		if c.Held {
			t.Errorf("%s held with a third of its rows left out", c.Name)
		}
	}
	want := map[string][]string{
		"KV tokens and concurrency, given the pool": {"91", "91", "92"},
		"KV pool end to end":                        {"91", "92"},
		"weights of one accelerator":                {"91"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if worst := checks[0].Worst(1)[0]; worst.ID != "92" || worst.Error < 0.02 {
		t.Errorf("the worst row is %+v", worst)
	}
}

// TestRoundedPool: a pool of 0.29 GiB is known to 1.7 % only.
func TestRoundedPool(t *testing.T) {
	d := write(t, "kv_reported.csv", header+
		"1,yes,kv_tokens,,llama-3.1-8b,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,1024,0.95,auto,16,0.29,2400,,,,,\n"+
		"2,yes,kv_tokens,,llama-3.1-8b,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,1024,0.95,auto,16,0.29,2500,,,,,\n")
	checks, err := Pool(d)
	if err != nil {
		t.Fatal(err)
	}
	rows := checks[0].Rows
	if len(rows) != 2 || !strings.Contains(rows[0].Note, "rounds the pool of 0.29 GiB") || rows[1].Note != "" || checks[0].Held {
		t.Errorf("%+v", checks[0])
	}
}

func TestModelsOfAFolder(t *testing.T) {
	d := write(t, "models.csv", "key,total_params,config_file\nmine,1000,small.json\n")
	if err := os.Mkdir(filepath.Join(d.folder, "configs"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
		"intermediate_size":128,"vocab_size":256,"max_position_embeddings":512,"torch_dtype":"bfloat16","tie_word_embeddings":false,"rms_norm_eps":1e-5,"hidden_act":"silu"}`
	if err := os.WriteFile(filepath.Join(d.folder, "configs", "small.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	checks, err := Parameters(d)
	if err != nil {
		t.Fatal(err)
	}
	// Embeddings and head, two layers of attention, MLP and norms, a last norm.
	want := float64(2*256*64 + 2*(64*64*2+64*32*2+3*64*128+2*64) + 64)
	if rows := checks[0].Rows; len(rows) != 1 || rows[0].Got != want || rows[0].Want != 1000 || checks[0].Held {
		t.Errorf("%+v, want %v parameters", checks[0], want)
	}
}

func TestQuantile(t *testing.T) {
	var c Check
	for _, e := range []float64{0.4, 0.1, 0.2, 0.3} {
		c.Rows = append(c.Rows, Row{Error: e})
	}
	for p, want := range map[float64]float64{0: 0.1, 0.5: 0.25, 1: 0.4} {
		if got := c.Quantile(p); got < want-1e-12 || got > want+1e-12 {
			t.Errorf("quantile %v is %v, want %v", p, got, want)
		}
	}
}

// TestFilesThatLackAColumn: rows whose checks can not be read are no success.
func TestFilesThatLackAColumn(t *testing.T) {
	for _, tc := range []struct{ file, column string }{
		{"kv_reported.csv", "checks"}, {"kv_reported.csv", "kv_tokens"}, {"trtllm_max_sequences.csv", "measured_max_concurrent_seqs"},
		{"models.csv", "total_params"}, {"serving_measured.csv", "tpot_ms_mean"}, {"serving_measured.csv", "runnable"},
	} {
		t.Run(tc.file+" "+tc.column, func(t *testing.T) {
			dir := t.TempDir()
			text, err := os.ReadFile(filepath.Join("data", tc.file))
			if err != nil {
				t.Fatal(err)
			}
			head, rows, _ := strings.Cut(string(text), "\n")
			head = strings.Replace(","+head+",", ","+tc.column+",", ",renamed,", 1)
			head = strings.Trim(head, ",")
			if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(head+"\n"+rows), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := Open(dir)
			if err == nil {
				_, err = All(d)
			}
			if err == nil || !strings.Contains(err.Error(), "reading "+tc.file+": column "+tc.column+" is missing") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestEmptyFolder: its checks are shown, and none of them is held.
func TestEmptyFolder(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Missing()) != 4 {
		t.Errorf("missing: %q", d.Missing())
	}
	checks, err := All(d)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Print(&out, checks); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "no rows"); n != len(checks) || n < 10 || strings.Contains(out.String(), "held\n") {
		t.Errorf("of %d checks, %d without rows:\n%s", len(checks), n, out.String())
	}
}

// TestVerdict: a check that has no bar is neither held nor broken.
func TestVerdict(t *testing.T) {
	rows := []Row{{}}
	for want, c := range map[string]Check{
		"no rows": {Bar: "≤ 1 %", Held: true}, "shown": {Rows: rows, Held: true},
		"held": {Bar: "≤ 1 %", Rows: rows, Held: true}, "not held": {Bar: "≤ 1 %", Rows: rows},
	} {
		if got := c.verdict(); got != want {
			t.Errorf("%+v is %q, want %q", c, got, want)
		}
	}
}

func TestMissingFolder(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "reading data") {
		t.Error(err)
	}
}
