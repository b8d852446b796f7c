package sizing

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// explained are the sections of a plan in which every number has a derivation.
// What stands elsewhere are inputs, which are settings, or texts.
var explained = []string{"model", "memory", "performance", "plan"}

// numbersOf collects the numbers below a node of JSON by their path.
func numbersOf(node any, path string, into map[string]float64) {
	switch v := node.(type) {
	case float64:
		into[path] = v
	case map[string]any:
		for key, child := range v {
			numbersOf(child, path+"."+key, into)
		}
	}
}

// TestEveryNumberHasADerivation walks over the JSON of plans of all kinds: each
// number of the explained sections is the value of the derivation that has its
// key, and there is no key of a number that is not there.
func TestEveryNumberHasADerivation(t *testing.T) {
	requests := map[string]func(*Request){
		"one replica": nil,
		"rate":        func(r *Request) { r.Scenario.Workload.Arrival = rps(200) },
		"in flight": func(r *Request) {
			r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 2000}
		},
		"TP 4, windows":  func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "gemma-3-27b", 4 },
		"experts":        func(r *Request) { r.Scenario.Model = "gpt-oss-20b" },
		"PP 4":           func(r *Request) { r.Scenario.Parallel.Pipeline = 4 },
		"PP 2":           func(r *Request) { r.Scenario.Parallel.Pipeline = 2 },
		"given pool":     func(r *Request) { r.KVCacheMemory = 10 << 30 },
		"does not fit":   func(r *Request) { r.Scenario.Model = "llama-3.1-405b" },
		"close to edge":  func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.3-70b", 2 },
		"without price":  func(r *Request) { r.Scenario.Accelerator = "a100-pcie-80gb" },
		"latent":         func(r *Request) { r.Scenario.Model = "deepseek-v2-lite" },
		"SLO unreached":  func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TPOT: 1}} },
		"newest version": func(r *Request) { r.Scenario.Engine = "" },
	}
	for _, engine := range profiles.EngineNames() {
		requests[engine] = func(r *Request) { r.Scenario.Engine = engine }
	}
	for name, change := range requests {
		t.Run(name, func(t *testing.T) {
			p := mustCompute(t, scenario(change))
			data, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			var document map[string]any
			if err := json.Unmarshal(data, &document); err != nil {
				t.Fatal(err)
			}
			numbers := map[string]float64{}
			for _, section := range explained {
				if document[section] != nil {
					numbersOf(document[section], section, numbers)
				}
			}
			for _, d := range p.Derivation {
				if d.Key == "" {
					continue
				}
				v, ok := numbers[d.Key]
				if !ok {
					// A price of nothing and an overhead of nothing are left out.
					if d.Value != 0 {
						t.Errorf("%s explains %s, which is not there", d.Name, d.Key)
					}
					continue
				}
				if math.Abs(v-d.Value) > 1e-9*math.Abs(v) {
					t.Errorf("%s is %v, but %s is %v", d.Name, d.Value, d.Key, v)
				}
				delete(numbers, d.Key)
			}
			for key, v := range numbers {
				t.Errorf("nothing explains %s = %v (see derivedKeys)", key, v)
			}
		})
	}
}

// TestDerivedKeysNameDerivations finds names in the table that no plan uses.
func TestDerivedKeysNameDerivations(t *testing.T) {
	used := map[string]bool{}
	for _, change := range []func(*Request){
		nil,
		func(r *Request) { r.Scenario.Engine = "sglang" },
		func(r *Request) { r.Scenario.Model = "gemma-3-27b" },
		func(r *Request) { r.Scenario.Parallel.Pipeline = 4 },
		func(r *Request) { r.Scenario.Model = "llama-3.1-405b" },
		func(r *Request) { r.Spare, r.Scenario.Workload.Arrival = 1, rps(20) },
	} {
		for _, d := range mustCompute(t, scenario(change)).Derivation {
			used[d.Name] = true
		}
	}
	for name := range derivedKeys {
		if !used[name] && name != "state per sequence" { // of hybrid models
			t.Errorf("no plan derives %q", name)
		}
	}
}
