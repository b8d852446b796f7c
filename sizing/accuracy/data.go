package accuracy

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

//go:embed data/*.csv
var builtin embed.FS

// Data is a folder of published figures: kv_reported.csv, logs.csv,
// trtllm_max_sequences.csv, models.csv and serving_measured.csv, any of which
// may be missing, and configs/ with the config.json of models that llmctl does
// not know by name.
type Data struct {
	files   fs.FS
	folder  string            // on disk; empty for the built-in data
	configs map[string]string // file of a model's key, from models.csv
	reasons map[string]string // why a figure is off, by check and row
}

// Open reads a folder; the empty name is the built-in data.
func Open(dir string) (Data, error) {
	d := Data{folder: dir, configs: map[string]string{}, reasons: map[string]string{}}
	inside, err := fs.Sub(builtin, "data")
	if err != nil {
		return d, err
	}
	d.files = inside
	if dir != "" {
		if _, err := os.Stat(dir); err != nil {
			return d, fmt.Errorf("reading data: %w", err)
		}
		d.files = os.DirFS(dir)
	}
	models, err := d.table(modelsFile)
	if err != nil {
		return d, err
	}
	for _, r := range models {
		d.configs[r["key"]] = r["config_file"]
	}
	// Reasons are facts about rows, which keep their numbers in every folder.
	reasons, err := readTable(inside, "reasons.csv")
	if err != nil {
		return d, err
	}
	for _, r := range reasons {
		d.reasons[r["check"]+" "+r["id"]] = r["reason"]
	}
	return d, nil
}

// The files of a folder.
const (
	reportedFile  = "kv_reported.csv"
	sequencesFile = "trtllm_max_sequences.csv"
	modelsFile    = "models.csv"
	servingFile   = "serving_measured.csv"
)

// configuration are the columns that make a row a request.
var configuration = []string{"model_key", "accelerator_key", "memory_bytes", "weight_format", "engine_key", "tp", "kv_dtype", "max_num_seqs", "max_num_batched_tokens", "runnable"}

// columns are those that the checks of a file read and can not do without; in a file
// that lacks one, rows would go by unseen.
var columns = map[string][]string{
	reportedFile: append(slices.Clone(configuration), "id", "pp", "dp", "max_model_len", "gpu_memory_utilization", "block_size", "available_kv_gib_per_gpu", "kv_tokens",
		"num_gpu_blocks", "max_concurrency_x", "model_load_gib_per_gpu", "checks", "duplicate_of"),
	sequencesFile: append(slices.Clone(configuration), "max_seq_len", "free_gpu_memory_fraction", "measured_max_concurrent_seqs"),
	modelsFile:    {"key", "total_params", "config_file"},
	servingFile: {"id", "model_key", "accelerator_key", "engine_key", "weight_format", "tp", "isl", "osl", "load_kind", "load_value", "request_rate_measured",
		"tpot_ms_mean", "ttft_ms_mean", "runnable", "checks", "duplicate_of", "repeat_of"},
}

// Missing names the files that the folder lacks, whose checks have no rows.
func (d Data) Missing() []string {
	var names []string
	for _, name := range []string{reportedFile, sequencesFile, modelsFile, servingFile} {
		if _, err := fs.Stat(d.files, name); errors.Is(err, fs.ErrNotExist) {
			names = append(names, name)
		}
	}
	return names
}

// table reads one file; a file that the folder lacks has no rows.
func (d Data) table(name string) ([]record, error) {
	rows, err := readTable(d.files, name, columns[name]...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return rows, err
}

// model names what LoadModel takes for a key: a built-in model, else a
// config.json of the folder.
func (d Data) model(key string) (string, error) {
	if key == "" {
		return "", fmt.Errorf("the row names no model")
	}
	_, err := profiles.LoadModel(key)
	if err == nil {
		return key, nil
	}
	for _, name := range []string{d.configs[key], key + ".json"} {
		path := filepath.Join(d.folder, "configs", name)
		if d.folder == "" || name == "" {
			continue
		}
		if _, statErr := os.Stat(path); statErr == nil {
			return path, nil
		}
	}
	return "", err
}

// reason is why a figure of a row is known to be off, empty when it is not.
func (d Data) reason(check, id string) string { return d.reasons[check+" "+id] }

// request is a row as a request for memory. Fields that the row leaves blank
// take the engine's defaults.
func (d Data) request(r record) (sizing.Request, error) {
	model, err := d.model(r["model_key"])
	if err != nil {
		return sizing.Request{}, err
	}
	memory, _ := r.number("memory_bytes")
	utilization, _ := r.number(cmp.Or(stated(r, "gpu_memory_utilization"), "free_gpu_memory_fraction"))
	return sizing.Request{
		Scenario: profiles.Scenario{
			Model: model, Accelerator: r["accelerator_key"], Engine: engineOf(r),
			Parallel: profiles.Parallel{Tensor: r.count("tp"), Pipeline: r.count("pp"), Data: r.count("dp")},
		},
		WeightDType:          r["weight_format"],
		KVDType:              cacheFormat(r["kv_dtype"]),
		GPUMemoryUtilization: utilization,
		BlockSize:            r.count("block_size"),
		MaxModelLen:          max(r.count("max_model_len"), r.count("max_seq_len")),
		MaxNumSeqs:           r.count("max_num_seqs"),
		MaxNumBatchedTokens:  r.count("max_num_batched_tokens"),
		AcceleratorMemory:    int64(memory),
	}, nil
}

// engineOf is the row's engine. One whose version is not stated is the newest
// that is known; where the log line of the tokens has the form of before vLLM
// 0.24, the newest before that.
func engineOf(r record) string {
	name, unknown := strings.CutSuffix(r["engine_key"], "@?")
	if unknown && name == "vllm" && r["token_style"] == "old" {
		return "vllm@0.23"
	}
	return name
}

// stated is the field's name when the row has a value there.
func stated(r record, field string) string {
	if r[field] == "" {
		return ""
	}
	return field
}

// cacheFormat is the KV dtype as --kv-dtype takes it: empty for "auto", which
// follows the activations.
func cacheFormat(name string) string {
	if strings.HasPrefix(name, "auto") {
		return ""
	}
	return name
}

// subject words a row for a reader.
func subject(r record) string {
	text := fmt.Sprintf("%s %s, %s, %s", r["model_key"], r["weight_format"], r["accelerator_key"], r["engine_key"])
	for _, degree := range []string{"tp", "pp", "dp"} {
		if n := r.count(degree); n > 1 {
			text += fmt.Sprintf(" %s%d", degree, n)
		}
	}
	return text
}
