package accuracy

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHostileCells(t *testing.T) {
	const row = "91,yes,kv_gib kv_tokens concurrency,,llama-3.1-8b,h100-sxm-80gb,85029615043,bf16,vllm@0.19.0,1,1,1,8192,0.95,auto,16,58.11,KV,29750,58.11,14.99,1024,8192\n"
	for cell, want := range map[string]string{
		"476000": "", "476000 (said)": "", "": "",
		"NaN": `reading kv_reported.csv: line 2: kv_tokens "NaN" is not a finite number`, "-inf": `kv_tokens "-inf"`,
		"0": `kv_tokens "0" is outside 1 to 1e+15`, "-1": `kv_tokens "-1" is outside`,
		"1e308": `kv_tokens "1e308" is outside`, "1e999": `kv_tokens "1e999" is outside`,
	} {
		t.Run(cell, func(t *testing.T) {
			_, err := Pool(write(t, "kv_reported.csv", header+strings.Replace(row, "KV", cell, 1)))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "serving_measured.csv"), hostile(t, "tpot_ms_mean", "nan"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Times(d); err == nil || !strings.Contains(err.Error(), "reading serving_measured.csv: line 2: tpot_ms_mean") {
		t.Error(err)
	}
}

// hostile is the first measured row with one cell replaced.
func hostile(t *testing.T, column, cell string) []byte {
	t.Helper()
	f, err := os.Open("data/serving_measured.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	row[slices.Index(head, column)] = cell
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll([][]string{head, row}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
