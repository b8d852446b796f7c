package profiles

import (
	"strings"
	"testing"
)

// fuzzYAML feeds a parser of shown profiles: what it accepts must be written
// and read again.
func fuzzYAML[T any](f *testing.F, parse func([]byte) (*T, error), seeds ...any) {
	for _, seed := range seeds {
		f.Add(marshal(f, seed))
	}
	f.Add([]byte("a: [1, {b: c}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parse(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		written := marshal(t, v)
		if _, err := parse(written); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
	})
}

func FuzzParseAccelerator(f *testing.F) {
	a, err := LoadAccelerator("h100-sxm-80gb")
	if err != nil {
		f.Fatal(err)
	}
	fuzzYAML(f, ParseAccelerator, a)
}

func FuzzParseEngine(f *testing.F) {
	vllm, err := LoadEngine("vllm")
	if err != nil {
		f.Fatal(err)
	}
	sglang, err := LoadEngine("sglang")
	if err != nil {
		f.Fatal(err)
	}
	fuzzYAML(f, ParseEngine, vllm, sglang)
}

func FuzzParseWorkload(f *testing.F) {
	var seeds []any
	for _, name := range WorkloadNames() {
		w, err := LoadWorkload(name)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, w)
	}
	fuzzYAML(f, ParseWorkload, seeds...)
}
