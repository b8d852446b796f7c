package profiles

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ofTheProgram finds words of the program in what is said of a file.
var ofTheProgram = regexp.MustCompile(`Go value|Go struct|cannot unmarshal|into type|in type |map\[string\]|interface \{|\b(profiles|cost|weights|yaml|json)\.[A-Za-z]|\bu?int(8|16|32|64)\b|\bfloat(32|64)\b|!!(map|seq|str|int|float)`)

// TestErrorsAreInTermsOfTheFile gives each parser what it does not expect.
func TestErrorsAreInTermsOfTheFile(t *testing.T) {
	parsers := map[string]func(string) error{
		"model":       func(s string) error { _, err := ParseModel("x", []byte(s)); return err },
		"quantized":   func(s string) error { _, err := parseQuantConfig([]byte(s)); return err },
		"accelerator": func(s string) error { _, err := ParseAccelerator([]byte(s)); return err },
		"engine":      func(s string) error { _, err := ParseEngine([]byte(s)); return err },
		"scenario":    func(s string) error { _, err := ParseScenario([]byte(s)); return err },
		"workload":    func(s string) error { _, err := ParseWorkload([]byte(s)); return err },
		"load":        func(s string) error { _, err := ParseLoadProfile(s); return err },
		"slo":         func(s string) error { _, err := ParseSLO(s); return err },
	}
	texts := []string{
		"[]", "[1, 2]", `"text"`, "3", "null", "{", "{]", "\x00", "\xff\xfe", "a: b: c", "key: [", "- a\n- b", "? {a: b}\n: c", "&a [*a]",
		"key: a\nkey: b", "key: a\n---\nkey: b", "nope: 1", `{"model_type": [], "hidden_size": {}}`,
	}
	for _, field := range []string{"key", "memory_bytes", "bandwidth_gb_per_s", "fp16_only", "name", "version", "limits", "pools", "block_size", "activation",
		"model", "workload", "slo", "price", "parallel", "arrival", "input", "classes", "model_type", "hidden_size", "text_config", "quantization", "quantization_config"} {
		for _, value := range []string{"[1]", "{a: 1}", `{"a": 1}`, "text", "1.5", "true", "null", "[{}]"} {
			texts = append(texts, field+": "+value, `{"`+field+`": `+value+`}`)
		}
	}
	for name, parse := range parsers {
		for _, text := range texts {
			err := parse(text)
			if err == nil {
				continue
			}
			if word := ofTheProgram.FindString(err.Error()); word != "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s of %q: %q has %q", name, text, err, word)
			}
		}
	}
}

// TestSecondDocuments: what stands in one would be ignored.
func TestSecondDocuments(t *testing.T) {
	a, err := LoadAccelerator("h100-sxm-80gb")
	if err != nil {
		t.Fatal(err)
	}
	text := "key: x\nmemory_bytes: 1000\nbandwidth_gb_per_s: 10\n"
	if _, err := ParseAccelerator([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"accelerator": second(ParseAccelerator([]byte(text + "---\nkey: " + a.Name))),
		"engine":      second(ParseEngine([]byte("name: x\n---\nname: y"))),
		"scenario":    second(ParseScenario([]byte("model: x\n---\nmodel: y"))),
	} {
		if err == nil || !strings.Contains(err.Error(), "expected one document, found a second") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestHourlyPrices(t *testing.T) {
	for price, want := range map[string]string{
		"1e-300": "usd_per_hour 1e-300 is outside 0.001 to 1,000,000 $", "0.0009": "is outside", "2e6": "is outside", "-1": "is outside", ".nan": "usd_per_hour NaN is outside",
		"0": "", "0.001": "", "1e6": "", "2.5": "",
	} {
		_, err := ParseAccelerator([]byte("key: x\nmemory_bytes: 1000\nbandwidth_gb_per_s: 10\nusd_per_hour: " + price))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", price, err, want)
		}
	}
	if _, err := ParseScenario([]byte("price: { usd_per_accelerator_hour: 1e-300 }")); err == nil || !strings.Contains(err.Error(), "is outside 0.001 to") {
		t.Error(err)
	}
}

// TestOnlyFilesAreRead: a path that leads to something else is refused.
func TestOnlyFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "config.json", "hf_quant_config.json"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "a.yaml")
	for name, err := range map[string]error{
		"model":       second(LoadModel(dir)),
		"accelerator": second(LoadAccelerator(path)),
		"engine":      second(LoadEngine(path)),
		"scenario":    second(LoadScenario(path)),
		"workload":    second(LoadWorkload(path)),
		"load":        second(LoadLoadProfile(path)),
		"companion":   readCompanion(dir, &Model{}),
	} {
		if err == nil || !strings.Contains(err.Error(), "is no regular file but a folder") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "long.yaml"), make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadScenario(filepath.Join(dir, "long.yaml")); err == nil || !strings.Contains(err.Error(), "long.yaml is larger than the 1 MiB") {
		t.Error(err)
	}
}
