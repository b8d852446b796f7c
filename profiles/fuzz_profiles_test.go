package profiles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzYAML feeds a parser of shown profiles: what it accepts must be written
// and read again, as the same where equal says so.
func fuzzYAML[T any](f *testing.F, parse func([]byte) (*T, error), equal bool, seeds ...any) {
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
		again, err := parse(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if diff := cmp.Diff(v, again); diff != "" && equal {
			t.Fatalf("%s\n%s", diff, written)
		}
	})
}

func FuzzParseAccelerator(f *testing.F) {
	a, err := LoadAccelerator("h100-sxm-80gb")
	if err != nil {
		f.Fatal(err)
	}
	fuzzYAML(f, ParseAccelerator, false, a)
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
	fuzzYAML(f, ParseEngine, false, vllm, sglang)
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
	for _, text := range grammarSeeds {
		f.Add([]byte(text))
	}
	fuzzYAML(f, ParseWorkload, true, seeds...)
}
