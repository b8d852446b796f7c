package sizing

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var casesFlag = flag.String("cases", "testdata/cases/*.txt", "case files to run, e.g. your own (see casefile_test.go)")

// quantities are the numbers of a plan by the names that planners use.
var quantities = map[string]func(*Plan) float64{
	"parameters":             func(p *Plan) float64 { return float64(p.Model.Parameters) },
	"active parameters":      func(p *Plan) float64 { return float64(p.Model.ActiveParameters) },
	"KV per token":           func(p *Plan) float64 { return float64(p.Model.KVBytesPerToken) },
	"KV per growing token":   func(p *Plan) float64 { return float64(p.Model.GrowingKVBytesPerToken) },
	"KV of longest request":  func(p *Plan) float64 { return float64(p.Model.KVBytesOfLongestRequest) },
	"state per sequence":     func(p *Plan) float64 { return float64(p.Model.StateBytesPerSequence) },
	"weights":                func(p *Plan) float64 { return float64(p.Memory.WeightsBytes) },
	"activation":             func(p *Plan) float64 { return float64(p.Memory.ActivationBytes) },
	"non-torch":              func(p *Plan) float64 { return float64(p.Memory.NonTorchBytes) },
	"graphs":                 func(p *Plan) float64 { return float64(p.Memory.CUDAGraphBytes) },
	"pool":                   func(p *Plan) float64 { return float64(p.Memory.KVCacheBytes - p.Memory.MissingBytes) },
	"blocks":                 func(p *Plan) float64 { return float64(p.Memory.KVCacheBlocks) },
	"tokens":                 func(p *Plan) float64 { return float64(p.Memory.KVCacheTokens) },
	"concurrency":            func(p *Plan) float64 { return p.Memory.MaxConcurrency },
	"average requests":       func(p *Plan) float64 { return p.Memory.MixSequences },
	"replicas":               func(p *Plan) float64 { return performed(p).replicas },
	"output rate":            func(p *Plan) float64 { return performed(p).output },
	"largest rate":           func(p *Plan) float64 { return performed(p).maxRPS },
	"mean TPOT":              func(p *Plan) float64 { return performed(p).tpot },
	"roofline limit of step": func(p *Plan) float64 { return performed(p).limit },
}

// performed is what a plan with replicas says; all NaN without.
func performed(p *Plan) (v struct{ replicas, output, maxRPS, tpot, limit float64 }) {
	if p.Performance == nil || p.Fleet == nil {
		v.replicas, v.output, v.maxRPS, v.tpot, v.limit = math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
		return v
	}
	q := p.Performance
	v.replicas, v.output, v.maxRPS, v.tpot, v.limit = float64(p.Fleet.Replicas), q.OutputTokensPS, q.MaxRPS, q.TPOT.Mean, q.StepLimit
	return v
}

// numberAt is the number at a path of a plan's JSON.
func numberAt(p *Plan, path string) (float64, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	var node any
	if err := json.Unmarshal(data, &node); err != nil {
		return 0, err
	}
	for key := range strings.SplitSeq(path, ".") {
		object, _ := node.(map[string]any)
		node = object[key]
	}
	v, ok := node.(float64)
	if !ok {
		return 0, fmt.Errorf("the plan has no number at %s", path)
	}
	return v, nil
}

// check runs one expectation and returns what is wrong, "" when nothing is.
func (c planCase) check(e expectation) string {
	r := c.request
	if e.pool > 0 {
		r.KVCacheMemory = e.pool
	}
	p, err := Compute(r)
	if e.kind == "refuse" {
		return checkRefusal(p, err, e.naming)
	}
	if err != nil {
		return fmt.Sprintf("refused: %v", err)
	}
	switch e.kind {
	case "fits":
		if !p.Feasible {
			return "refused: " + strings.Join(p.Reasons, "; ")
		}
		return ""
	case "warn", "no warn":
		if hasWarning(p, e.code) != (e.kind == "warn") {
			return fmt.Sprintf("the warnings are %v", p.Warnings)
		}
		return ""
	}
	var got float64
	if number := quantities[e.quantity]; number != nil {
		got = number(p)
	} else if got, err = numberAt(p, e.quantity); err != nil {
		return err.Error()
	}
	ok := map[string]bool{
		"=": math.Abs(got-e.value) <= e.slack,
		"<": got < e.value, ">": got > e.value, "≤": got <= e.value, "≥": got >= e.value,
	}[e.kind]
	if !ok {
		return fmt.Sprintf("got %.7g, expected %s %.7g ± %.3g (%+.2f%%)", got, e.kind, e.value, e.slack, (got/e.value-1)*100)
	}
	return ""
}

// checkRefusal wants bad input, or a plan that is not feasible.
func checkRefusal(p *Plan, err error, naming []string) string {
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case p.Feasible:
		return "not refused"
	default:
		text = strings.Join(p.Reasons, "\n")
	}
	for _, name := range naming {
		if !strings.Contains(text, name) {
			return fmt.Sprintf("the refusal does not name %q: %s", name, text)
		}
	}
	return ""
}

func readCases(t testing.TB, pattern string) []planCase {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files at %s: %v", pattern, err)
	}
	var cases []planCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		more, err := parseCases(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, more...)
	}
	return cases
}

func TestCases(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range readCases(t, *casesFlag) {
		if names[c.name] {
			t.Errorf("%s:%d: there is a case %q already", c.file, c.line, c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			for _, e := range c.expects {
				if wrong := c.check(e); wrong != "" {
					t.Errorf("%s:%d: expect %s: %s", c.file, e.line, e.text, wrong)
				}
			}
		})
	}
}

// TestCasesOfTheManual runs the example of docs/cases.md.
func TestCasesOfTheManual(t *testing.T) {
	text, err := os.ReadFile("../docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```\n")
	block, _, _ = strings.Cut(block, "```")
	cases, err := parseCases("docs/cases.md", block)
	if err != nil || len(cases) < 2 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		for _, e := range c.expects {
			if wrong := c.check(e); wrong != "" {
				t.Errorf("%s: expect %s: %s", c.name, e.text, wrong)
			}
		}
	}
	for name := range quantities {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), "`"+name+"`") {
			t.Errorf("docs/cases.md does not name the quantity %s", name)
		}
	}
	for name := range caseOptions {
		if !strings.Contains(string(text), "`"+name) {
			t.Errorf("docs/cases.md does not name the option %s", name)
		}
	}
}

// TestCasesCanFail turns each kind of expectation around.
func TestCasesCanFail(t *testing.T) {
	const given = "case x\ngiven llama-3.1-8b on h100-sxm-80gb with vllm@0.19, utilization 0.95, length 8192\nexpect "
	for _, expect := range []string{
		"refuse", "tokens = 1", "tokens < 1", "pool > 1 TiB", "warn no-bf16", "no warn preemption", "memory.kv_cache_blocks = 5",
		"tokens = 476016 given pool 1 GiB", "parameters ≤ 3", "parameters ≥ 3,000,000,000,000", "memory.nonsense = 1", "pool = 58.11 GiB ± 0.001%",
	} {
		cases, err := parseCases("x.txt", given+expect)
		if err != nil {
			t.Fatal(err)
		}
		if cases[0].check(cases[0].expects[0]) == "" {
			t.Errorf("%s holds", expect)
		}
	}
	cases, err := parseCases("x.txt", "case x\ngiven llama-3.1-405b\nexpect fits\nexpect refuse naming \"blue\"\nexpect replicas > 0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range cases[0].expects {
		if cases[0].check(e) == "" {
			t.Errorf("%s holds", e.text)
		}
	}
}

func TestCaseFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"given llama-3.1-8b":                              `f.txt:1: "given" stands before any case`,
		"case a\n\ncase b":                                `f.txt:1: case "a" needs a given and an expect`,
		"case a\nwant x":                                  `f.txt:2: unknown clause "want x"`,
		"case a\ngiven m at h100":                         `f.txt:2: "at" is neither on nor with`,
		"case a\ngiven m on":                              `f.txt:2: "m on" is not like`,
		"case a\ngiven m, colour 3":                       `f.txt:2: unknown option "colour"`,
		"case a\ngiven m, tp x":                           `f.txt:2: option tp: `,
		"case a\ngiven m, pool 3 bananas":                 `f.txt:2: option pool: `,
		"case a # why\ngiven m\nexpect pool about 3":      `f.txt:3: unknown expectation`,
		"case a\ngiven m\nexpect poll = 3":                `f.txt:3: unknown quantity "poll"`,
		"case a\ngiven m\nexpect pool = 3 miles":          `f.txt:3: unknown unit in "3 miles"`,
		"case a\ngiven m\nexpect pool = many":             `f.txt:3: unknown unit in "many"`,
		"case a\ngiven m\nexpect pool = 3 GiB ± 1":        `f.txt:3: tolerance " 1" needs a unit`,
		"case a\ngiven m\nexpect refuse naming 8 heads":   `f.txt:3: "8 heads" is not a quoted text`,
		"case a\ngiven m\nexpect refuse because \"x\"":    `f.txt:3: "because" is not naming`,
		"case a\ngiven m\nexpect tokens = 3 given pool x": `f.txt:3: pool "x": `,
	} {
		if _, err := parseCases("f.txt", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// FuzzParseCases: whatever a file holds, reading it ends in cases or in an error
// that names the file and a line.
func FuzzParseCases(f *testing.F) {
	files, _ := filepath.Glob("testdata/cases/*.txt")
	for _, file := range append(files, "testdata/pending.txt") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		cases, err := parseCases("f.txt", text)
		if err != nil && !strings.HasPrefix(err.Error(), "f.txt:") {
			t.Errorf("error %v names no line", err)
		}
		for _, c := range cases {
			if c.name == "" || len(c.expects) == 0 {
				t.Errorf("empty case %+v", c)
			}
		}
	})
}

// TestPendingCasesAreRead keeps the file of cases that wait for code readable;
// go test ./sizing -run TestCases -cases testdata/pending.txt runs them.
func TestPendingCasesAreRead(t *testing.T) {
	readCases(t, "testdata/pending.txt")
}
