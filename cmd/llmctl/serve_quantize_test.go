package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// With --quantization a model is served with fewer bits, and the start says how many
// bytes that saves.
func TestQuantizedModelsAreServed(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
		less bool
	}{
		{"the built-in one in int8", []string{"--quantization", "int8"}, `^model builtin, in int8: (\S+ \S+) in memory, of (\S+ \S+), ready`, true},
		{"the built-in one in fp8", []string{"-q", "fp8"}, `^model builtin, in fp8: (\S+ \S+) in memory, of (\S+ \S+), ready`, true},
		{"one from files, of halves", []string{"--model", tinyModel(t), "--quantization", "fp8", "--served-model-name", "m"}, `weights, in fp8: (\S+ \S+) in memory, of (\S+ \S+), ready`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parsed(t, c.args...).open(quiet())
			if err != nil {
				t.Fatal(err)
			}
			defer v.close()
			var said strings.Builder
			v.announce(&said, time.Second)
			found := regexp.MustCompile(c.want).FindStringSubmatch(said.String())
			if found == nil || (found[1] == found[2]) == c.less {
				t.Errorf("it says %q, want %q with two sizes", said.String(), c.want)
			}
			w := httptest.NewRecorder()
			v.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions",
				strings.NewReader(`{"prompt":"the moon","max_tokens":3,"ignore_eos":true}`)))
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"completion_tokens":3`) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// What cannot be quantized is refused at the start, in one line.
func TestQuantizationsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"a method that does not exist", []string{"--quantization", "awq"}, `--quantization awq: quantization "awq", expected int8 or fp8`},
		{"a format that a modeled device does not know", []string{"--device", "modeled:h100-sxm-80gb", "--model", "llama-3.1-8b", "-q", "int3"}, "int3"},
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

// Weights that a file stores in fewer bits stay as they are, and asking for others is
// an error.
func TestWeightsThatAreQuantizedAlreadyAreNotAgain(t *testing.T) {
	f := parsed(t, "--quantization", "int8")
	c, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.quantize(&servedModel{}, &c); err != nil {
		t.Fatal(err)
	}
	err = f.quantize(&servedModel{}, &c) // of what is Q8_0 now
	if err == nil || !strings.Contains(err.Error(), "--quantization int8: layer 0: weights stored as Q8_0 are quantized already") {
		t.Errorf("error %v", err)
	}
}
