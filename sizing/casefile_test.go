package sizing

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// A case file holds situations and what a plan must say of them, in words. It is
// for capacity planners: a new log or a wrong answer is a new case.
//
//	file   = { "case" name { given } { expect } }          one clause a line, # begins a comment
//	given  = "given" model [ "on" accelerator ] [ "with" engine ] { "," option }
//	option = name value                                     see options
//	expect = "expect" "fits"
//	       | "expect" "refuse" [ "naming" quoted { "and" quoted } ]
//	       | "expect" [ "no" ] "warn" code
//	       | "expect" quantity ( "=" | "<" | ">" | "≤" | "≥" ) value [ "±" tolerance ] [ "given pool" size ]
//
// A quantity is a word of quantities, or the path of a number in the plan's JSON
// (memory.kv_cache_blocks). A tolerance is a percentage, or a value in the same
// unit; without one the plan must agree to the last digit that is written.
type planCase struct {
	file    string
	line    int
	name    string
	request Request
	expects []expectation
}

// An expectation is one clause of a case.
type expectation struct {
	line     int
	text     string
	kind     string   // fits, refuse, warn, no warn, or an operator
	naming   []string // of a refusal
	code     string   // of a warning
	quantity string
	value    float64 // in SI base units
	slack    float64
	pool     int64 // bytes; 0 when the plan's own
}

// parseCases reads a case file. Errors begin with file:line.
func parseCases(file, text string) ([]planCase, error) {
	var cases []planCase
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		verb, rest, _ := strings.Cut(uncomment(line), " ")
		rest = strings.TrimSpace(rest)
		var err error
		switch {
		case verb == "":
		case verb == "case" && rest != "":
			cases = append(cases, planCase{file: file, line: number, name: rest})
		case len(cases) == 0:
			err = fmt.Errorf("%q stands before any case", verb)
		case verb == "given":
			err = cases[len(cases)-1].given(rest)
		case verb == "expect":
			err = cases[len(cases)-1].expect(number, rest)
		default:
			err = fmt.Errorf("unknown clause %q, expected case, given or expect", line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	for _, c := range cases {
		if c.request.Scenario.Model == "" || len(c.expects) == 0 {
			return nil, fmt.Errorf("%s:%d: case %q needs a given and an expect", file, c.line, c.name)
		}
	}
	return cases, nil
}

// uncomment drops a comment that begins the line or follows a space.
func uncomment(line string) string {
	line = " " + strings.ReplaceAll(line, "\t", " ")
	line, _, _ = strings.Cut(line, " #")
	return strings.TrimSpace(line)
}

func (c *planCase) given(text string) error {
	head, options, _ := strings.Cut(text, ",")
	words := strings.Fields(head)
	if len(words)%2 != 1 {
		return fmt.Errorf("%q is not like llama-3.1-8b on h100-sxm-80gb with vllm@0.19", head)
	}
	c.request.Scenario.Model = words[0]
	for i := 1; i < len(words); i += 2 {
		switch words[i] {
		case "on":
			c.request.Scenario.Accelerator = words[i+1]
		case "with":
			c.request.Scenario.Engine = words[i+1]
		default:
			return fmt.Errorf("%q is neither on nor with", words[i])
		}
	}
	for option := range strings.SplitSeq(options, ",") {
		if strings.TrimSpace(option) == "" {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimSpace(option), " ")
		set, ok := caseOptions[name]
		if !ok {
			return fmt.Errorf("unknown option %q", name)
		}
		if err := set(&c.request, strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("option %s: %w", name, err)
		}
	}
	return nil
}

// caseOptions are what a case can give beside model, accelerator and engine.
var caseOptions = map[string]func(r *Request, value string) error{
	"tp":          func(r *Request, v string) error { return whole(v, &r.Scenario.Parallel.Tensor) },
	"pp":          func(r *Request, v string) error { return whole(v, &r.Scenario.Parallel.Pipeline) },
	"ep":          func(r *Request, v string) error { return whole(v, &r.Scenario.Parallel.Expert) },
	"dp":          func(r *Request, v string) error { return whole(v, &r.Scenario.Parallel.Data) },
	"weights":     func(r *Request, v string) error { r.WeightDType = v; return nil },
	"kv":          func(r *Request, v string) error { r.KVDType = v; return nil },
	"utilization": func(r *Request, v string) error { return real(v, &r.GPUMemoryUtilization) },
	"target":      func(r *Request, v string) error { return real(v, &r.TargetUtilization) },
	"block":       func(r *Request, v string) error { return whole(v, &r.BlockSize) },
	"length":      func(r *Request, v string) error { return whole(v, &r.MaxModelLen) },
	"seqs":        func(r *Request, v string) error { return whole(v, &r.MaxNumSeqs) },
	"batched":     func(r *Request, v string) error { return whole(v, &r.MaxNumBatchedTokens) },
	"pool":        func(r *Request, v string) (err error) { r.KVCacheMemory, err = byteSize(v); return err },
	"memory":      func(r *Request, v string) (err error) { r.AcceleratorMemory, err = byteSize(v); return err },
	"price":       func(r *Request, v string) error { return real(v, &r.Scenario.Price.USDPerAcceleratorHour) },
	"rate": func(r *Request, v string) (err error) {
		r.Scenario.Workload.Arrival.Process = profiles.Poisson
		r.Scenario.Workload.Arrival.RatePerS, err = units.ParseRate(v)
		return err
	},
	"concurrency": func(r *Request, v string) error {
		r.Scenario.Workload.Arrival.Process = profiles.Closed
		return whole(v, &r.Scenario.Workload.Arrival.Concurrency)
	},
	"input": func(r *Request, v string) (err error) {
		r.Scenario.Workload.Input, err = profiles.ParseDistribution(v)
		return err
	},
	"output": func(r *Request, v string) (err error) {
		r.Scenario.Workload.Output, err = profiles.ParseDistribution(v)
		return err
	},
	"slo": func(r *Request, v string) error { // several clauses are several options
		slo, err := profiles.ParseSLO(strings.ReplaceAll(v, " ", "="))
		r.Scenario.SLO = append(r.Scenario.SLO, slo)
		return err
	},
}

func whole(text string, to *int) (err error) {
	*to, err = strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	return err
}

func real(text string, to *float64) (err error) {
	*to, err = strconv.ParseFloat(text, 64)
	return err
}

// byteSize reads "58.11 GiB".
func byteSize(text string) (int64, error) { return units.ParseBytes(strings.ReplaceAll(text, " ", "")) }

func (c *planCase) expect(line int, text string) error {
	e := expectation{line: line, text: text}
	var err error
	verb, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "fits":
		e.kind = "fits"
	case verb == "refuse":
		e.kind = "refuse"
		e.naming, err = quotedList(rest)
	case verb == "warn" && isCode(rest):
		e.kind, e.code = "warn", rest
	case verb == "no" && strings.HasPrefix(rest, "warn ") && isCode(rest[5:]):
		e.kind, e.code = "no warn", rest[5:]
	default:
		err = e.compare(text)
	}
	c.expects = append(c.expects, e)
	return err
}

func isCode(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r != '-' && !unicode.IsLower(r) && !unicode.IsDigit(r) }) < 0
}

// quotedList reads `naming "a" and "b"`.
func quotedList(text string) ([]string, error) {
	var list []string
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		if want := map[bool]string{true: "naming", false: "and"}[len(list) == 0]; word != want {
			return nil, fmt.Errorf("%q is not %s", word, want)
		}
		quoted, err := strconv.QuotedPrefix(strings.TrimSpace(rest))
		if err != nil {
			return nil, fmt.Errorf("%q is not a quoted text", rest)
		}
		text = strings.TrimSpace(strings.TrimSpace(rest)[len(quoted):])
		unquoted, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%s is not a quoted text", quoted)
		}
		list = append(list, unquoted)
	}
	return list, nil
}

// compare reads a quantity, an operator and a value.
func (e *expectation) compare(text string) error {
	at := strings.IndexAny(text, "=<>≤≥")
	if at < 0 {
		return fmt.Errorf("unknown expectation %q", text)
	}
	e.quantity = strings.TrimSpace(text[:at])
	if _, ok := quantities[e.quantity]; !ok && !strings.Contains(e.quantity, ".") {
		return fmt.Errorf("unknown quantity %q", e.quantity)
	}
	operator := string([]rune(text[at:])[:1])
	e.kind = operator
	rest, pool, given := strings.Cut(text[at+len(operator):], " given pool ")
	if given {
		var err error
		if e.pool, err = byteSize(pool); err != nil {
			return fmt.Errorf("pool %q: %w", pool, err)
		}
	}
	value, tolerance, tolerant := strings.Cut(rest, "±")
	var scale float64
	var err error
	if e.value, e.slack, scale, err = caseValue(value); err != nil {
		return err
	}
	if !tolerant {
		return nil
	}
	if percent, ok := strings.CutSuffix(strings.TrimSpace(tolerance), "%"); ok {
		share, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		e.slack = share / 100 * max(e.value, -e.value)
		return err
	}
	off, _, own, err := caseValue(tolerance)
	if err == nil && own == 1 && scale != 1 {
		return fmt.Errorf("tolerance %q needs a unit", tolerance)
	}
	e.slack = off
	return err
}

// caseUnits are the units of values; none counts things.
var caseUnits = map[string]float64{
	"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "KB": 1e3, "MB": 1e6, "GB": 1e9,
	"s": 1, "ms": 1e-3, "µs": 1e-6, "%": 0.01, "/s": 1, "tokens": 1, "requests": 1, "blocks": 1, "tok/s": 1,
}

// caseValue reads "58.11 GiB" or "$0.28"; half is half of the last digit.
func caseValue(text string) (value, half, scale float64, err error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "$")
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsDigit(r) && !strings.ContainsRune(".,-", r) })
	if end < 0 {
		end = len(text)
	}
	digits := strings.ReplaceAll(text[:end], ",", "")
	scale, ok := caseUnits[strings.TrimSpace(text[end:])]
	if !ok {
		return 0, 0, 0, fmt.Errorf("unknown unit in %q", text)
	}
	if value, err = strconv.ParseFloat(digits, 64); err != nil {
		return 0, 0, 0, fmt.Errorf("%q is not a value", text)
	}
	half = 0.500001
	_, decimals, _ := strings.Cut(digits, ".")
	for range decimals {
		half /= 10
	}
	return value * scale, half * scale, scale, nil
}
