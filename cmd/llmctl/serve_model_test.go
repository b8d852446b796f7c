package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// tinyModel is a folder with a model of engine/load's tests that lacks nothing.
func tinyModel(t *testing.T) string {
	t.Helper()
	const from = "../../engine/load/testdata"
	dir := t.TempDir()
	for name, path := range map[string]string{
		"config.json": "smollm2/config.json", "model.safetensors": "smollm2/model.safetensors", "tokenizer.json": "tokenizer.json",
	} {
		data, err := os.ReadFile(filepath.Join(from, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func quiet() *iostreams.IO {
	return &iostreams.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}
}

// parsed are the flags of a command line.
func parsed(t *testing.T, args ...string) *engineFlags {
	t.Helper()
	var flags engineFlags
	cmd := &cobra.Command{}
	flags.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return &flags
}

// A folder from Hugging Face is served: its weights, its tokenizer, its template.
func TestAModelFromFilesIsServed(t *testing.T) {
	dir := tinyModel(t)
	template := filepath.Join(t.TempDir(), "chat.jinja")
	if err := os.WriteFile(template, []byte(`{% for m in messages %}{{ m.content }}{% endfor %}`), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "steps.jsonl")
	flags := parsed(t, "--model", dir, "--chat-template", template, "--served-model-name", "tiny,small", "--max-model-len", "48",
		"--kv-cache-memory", "1MiB", "--step-log", log, "--speculative-config", `{"method":"ngram","num_speculative_tokens":2}`)
	v, err := flags.open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		"/v1/completions":      `{"model":"small","prompt":"the moon","max_tokens":3,"ignore_eos":true}`,
		"/v1/chat/completions": `{"model":"tiny","messages":[{"role":"user","content":"the moon"}],"max_tokens":3,"ignore_eos":true}`,
	} {
		w := httptest.NewRecorder()
		v.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"completion_tokens":3`) || !strings.Contains(w.Body.String(), `"model":"tiny"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	v.close()
	if steps, err := os.ReadFile(log); err != nil || !strings.HasPrefix(string(steps), `{"step":0,`) {
		t.Errorf("step log %q, %v", steps, err)
	}
}

// What keeps a model from being served is said in one line.
func TestModelsThatAreNotServed(t *testing.T) {
	without := func(name string) string {
		dir := tinyModel(t)
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	broken := tinyModel(t)
	if err := os.WriteFile(filepath.Join(broken, "model.safetensors"), []byte("no weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"an id of Hugging Face", []string{"--model", "org/name"}, "nothing is downloaded"},
		{"no such file", []string{"--model", "./missing"}, `no model "./missing"`},
		{"without a tokenizer", []string{"--model", without("tokenizer.json")}, "tokenizer.json"},
		{"without weights", []string{"--model", without("model.safetensors")}, "safetensors"},
		{"broken weights", []string{"--model", broken}, "model.safetensors"},
		{"without a config", []string{"--model", without("config.json")}, "or the name of a .gguf file"},
		{"several devices", []string{"--tensor-parallel-size", "2"}, "one device"},
		{"CUDA", []string{"--device", "cuda"}, "this build has no CUDA executor"},
		{"a number format that does not exist", []string{"--dtype", "int2"}, "as they are stored"},
		{"no template", []string{"--model", tinyModel(t), "--chat-template", "missing.jinja"}, "--chat-template"},
		{"a tool parser that does not exist", []string{"--model", tinyModel(t), "--tool-call-parser", "pythonic"}, "hermes"},
		{"a reasoning parser that does not exist", []string{"--model", tinyModel(t), "--reasoning-parser", "x"}, "qwen3"},
		{"texts for the built-in model", []string{"--tool-call-parser", "hermes"}, "for a model from files"},
		{"a policy that does not exist", []string{"--scheduling-policy", "lifo"}, "fcfs or priority"},
		{"a KV format that does not exist", []string{"--kv-cache-dtype", "int3"}, `"int3"`},
		{"speculation without a method", []string{"--num-speculative-tokens", "3"}, "no method"},
		{"speculation by what is unknown", []string{"--speculative-config", `{"method":"eagle"}`}, `"eagle" is not supported`},
		{"speculation with a slip", []string{"--speculative-config", `{"methud":"ngram"}`}, "methud"},
		{"speculation on a modeled device", []string{"--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b", "--speculative-model", "ngram"}, "not for a modeled device"},
		{"absurdly many requests at once", []string{"--max-num-seqs", "1000000000"}, "(max_num_seqs) must be at most 65536, got 1000000000"},
		{"absurdly many tokens at once", []string{"--max-num-batched-tokens", "100000000000"}, "(max_num_batched_tokens) must be at most 16777216, got 100000000000"},
		{"sampling by what is unknown", []string{"--model", tinyModel(t), "--generation-config", "x"}, "auto or vllm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parsed(t, c.args...).open(quiet())
			if err == nil {
				v.close()
				t.Fatal("it is served")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, c.want)
			}
		})
	}
}

// A command line for vLLM works where its flags ask for nothing, and says what to do
// where they do.
func TestFlagsOfVLLM(t *testing.T) {
	flags := parsed(t, "--tensor-parallel-size", "1", "--dtype", "auto", "--trust-remote-code", "--disable-log-requests", "--swap-space=4",
		"--no-enable-prefix-caching", "--no-enable-chunked-prefill", "--max-num-seqs", "8")
	if flags.prefixCaching || flags.chunkedPrefill || flags.sched.MaxNumSeqs != 8 {
		t.Errorf("flags %+v", flags)
	}
	for _, c := range []struct{ arg, want string }{
		{"--enable-lora", "LoRA adapters are not supported"},
		{"--no-enable-prefix-caching=perhaps", "true or false"},
		{"--revision=main", "nothing is downloaded"},
	} {
		var f engineFlags
		cmd := &cobra.Command{}
		f.add(cmd)
		if err := cmd.ParseFlags([]string{c.arg}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.arg, err, c.want)
		}
	}
}

// With a time scale of 100 a modeled answer takes a hundredth of its time, and its
// metrics tell the model's time.
func TestModeledTimeIsScaled(t *testing.T) {
	log := filepath.Join(t.TempDir(), "steps.jsonl")
	v, err := parsed(t, "--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b", "--time-scale", "100", "--step-log", log).open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	begun := v.engine.Now()
	w := httptest.NewRecorder()
	v.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions",
		strings.NewReader(`{"prompt":"x","max_tokens":200,"ignore_eos":true}`)))
	if w.Code != 200 {
		t.Fatal(w.Body)
	}
	if took, steps := (v.engine.Now() - begun).Seconds(), v.engine.Stats().InterToken.Sum; steps < 0.2 || steps > took {
		t.Errorf("199 steps took %.3f s of the model's time in all of %.3f s, want at least a millisecond each", steps, took)
	}
	v.engine.Close()
	steps, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(steps)) { // each lasts what the model says, however late this machine woke up
		var step engine.Step
		if err := json.Unmarshal([]byte(line), &step); err != nil {
			t.Fatal(err)
		}
		if step.Decodes == 1 && (step.Duration < 0.001 || step.Duration > 0.1) {
			t.Errorf("a step of %v s is in the log", step.Duration)
		}
	}
}

// vLLM's name of --tp is one, and 1 of it is no wish for a modeled device.
func TestTensorParallelSize(t *testing.T) {
	v, err := parsed(t, "--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b", "--tensor-parallel-size", "2").open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	if !slices.Contains(v.settings(), "--tp 2") {
		t.Errorf("settings %q, want --tp 2 among them", v.settings())
	}
	one, err := parsed(t, "--tensor-parallel-size", "1").open(quiet())
	if err != nil {
		t.Fatal(err)
	}
	one.close()
}

// How reasoning is marked is told by the template, unless a flag says.
func TestReasoningParserIsToldByTheTemplate(t *testing.T) {
	template := filepath.Join(t.TempDir(), "chat.jinja")
	source := `{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking %}<think></think>{% endif %}`
	if err := os.WriteFile(template, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"told", nil, "qwen3"},
		{"said", []string{"--reasoning-parser", "deepseek_r1"}, "deepseek_r1"},
		{"none", []string{"--reasoning-parser", "none"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parsed(t, append([]string{"--model", tinyModel(t), "--chat-template", template, "--max-model-len", "48"}, c.args...)...).open(quiet())
			if err != nil {
				t.Fatal(err)
			}
			defer v.close()
			if v.options.ReasoningParser != c.want {
				t.Errorf("%q, want %q", v.options.ReasoningParser, c.want)
			}
		})
	}
}

// A port in use is found before a model is loaded: here one that could not be.
func TestAPortInUseIsFoundFirst(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir := tinyModel(t)
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte("no weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	s := quiet()
	s.Err = &errs
	if code := run(s, []string{"serve", dir, "--addr", l.Addr().String()}); code != exitFailed || !strings.Contains(errs.String(), "listening on "+l.Addr().String()) {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}

// What is in force is said at the start, as flags, on lines that fit a terminal.
func TestAnnouncement(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"built-in", nil, []string{"KV cache size: 65,536 tokens", " MiB\n", "--max-num-seqs 64", "--kv-cache-dtype float32", "--enable-prefix-caching=true", "kernels"}},
		{
			"modeled", []string{"--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b", "--time-scale", "10", "--no-enable-prefix-caching"},
			[]string{", modeled, ", " GiB\n", "--device modeled:h100-sxm-80gb", "--engine vllm@", "--tp 1", "--time-scale 10", "--enable-prefix-caching=false"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parsed(t, c.args...).open(quiet())
			if err != nil {
				t.Fatal(err)
			}
			defer v.close()
			var told strings.Builder
			v.announce(&told, time.Second)
			for _, want := range c.want {
				if !strings.Contains(told.String(), want) {
					t.Errorf("%q is not in\n%s", want, told.String())
				}
			}
			for line := range strings.Lines(told.String()) {
				if len(line) > announceWidth+1 {
					t.Errorf("%d columns: %s", len(line)-1, line)
				}
			}
		})
	}
}

func TestWindowFlag(t *testing.T) {
	for _, c := range []struct {
		value string
		want  int
	}{{"4096", 4096}, {"1k", 1000}, {"1K", 1024}, {"2M", 2 << 20}, {"25.6k", 25600}, {"auto", 0}, {"-1", 0}} {
		if flags := parsed(t, "--max-model-len="+c.value); flags.sched.MaxModelLen != c.want {
			t.Errorf("%s: %d, want %d", c.value, flags.sched.MaxModelLen, c.want)
		}
	}
	for _, value := range []string{"0", "-2", "K", "1.5K", "9999T", "x"} {
		n := 0
		if err := (windowValue{&n}).Set(value); err == nil {
			t.Errorf("%s is taken as %d", value, n)
		}
	}
}
