package sizing

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// unspoken are the fields of a request that its command line leaves out: what a
// plan does not depend on.
var unspoken = []string{
	"Today", "Calibration", "Scenario.Experiment", "Scenario.Workload.Name", "Scenario.Workload.Tenants", "Scenario.Workload.Classes", "Scenario.Workload.Arrival.Process",
	"Scenario.Workload.Arrival.RampUp", "Scenario.Workload.Cancel", "Scenario.Workload.Models", "Scenario.Workload.Tools", "Scenario.Workload.Schema",
	"Recorded", // the trace's
	"Scenario.Workload.Tenant",

	// What only simulations run.
	"Scenario.Also", "Scenario.Compare", "Scenario.Run",
	"Scenario.Cluster.Pools", "Scenario.Cluster.Router", "Scenario.Cluster.Gateway", "Scenario.Cluster.Link", "Scenario.Cluster.Autoscale", "Scenario.Cluster.Failures",
	"Scenario.Serving.Batching", "Scenario.Serving.CacheSalt", "Scenario.Serving.ChunkedPrefill", "Scenario.Serving.KVLayout",
	"Scenario.Serving.LongPrefillTokenThreshold", "Scenario.Serving.Offload", "Scenario.Serving.Policy", "Scenario.Serving.Priorities", "Scenario.Serving.Speculative",
}

// isUnspoken reports whether a field, or a part that it belongs to, is unspoken.
func isUnspoken(path string) bool {
	return slices.ContainsFunc(unspoken, func(part string) bool { return path == part || strings.HasPrefix(path, part+".") })
}

// wholes are structs that one flag says.
var wholes = []reflect.Type{
	reflect.TypeFor[profiles.Distribution](), reflect.TypeFor[profiles.LoadProfile](), reflect.TypeFor[profiles.Prefix](), reflect.TypeFor[profiles.Delay](), reflect.TypeFor[profiles.Cancel](),
}

// leaves calls f with each settable field below a struct and its path.
func leaves(v reflect.Value, path string, f func(path string, field reflect.Value)) {
	for i := range v.NumField() {
		name := strings.TrimPrefix(path+"."+v.Type().Field(i).Name, ".")
		field := v.Field(i)
		if !v.Type().Field(i).IsExported() {
			continue
		}
		whole := slices.Contains(wholes, field.Type())
		if field.Kind() == reflect.Struct && !whole && field.Type().PkgPath() != "time" {
			leaves(field, name, f)
			continue
		}
		f(name, field)
	}
}

// TestArgsCoverTheRequest sets one field after the other: a field that the command
// line does not show would make the commands of a refusal ask for another plan.
func TestArgsCoverTheRequest(t *testing.T) {
	plain := Request{}.Args()
	var r Request
	leaves(reflect.ValueOf(&r).Elem(), "", func(path string, field reflect.Value) {
		if isUnspoken(path) {
			return
		}
		r = Request{}
		switch field.Interface().(type) {
		case profiles.Distribution:
			field.Set(reflect.ValueOf(profiles.Distribution{Kind: profiles.Fixed, Mean: 7}))
		case profiles.Prefix:
			field.Set(reflect.ValueOf(profiles.Prefix{Groups: 2, Tokens: 64}))
		case profiles.Delay:
			field.Set(reflect.ValueOf(profiles.Delay{Kind: profiles.Fixed, Mean: 7}))
		case *profiles.Curve:
			field.Set(reflect.ValueOf(&profiles.Curve{Steps: []profiles.Step{{RatePerS: 7}}}))
		case profiles.LoadProfile:
			field.Set(reflect.ValueOf(profiles.LoadProfile{Name: "given", Hours: []float64{1, 0.5}}))
		case []profiles.SLO:
			field.Set(reflect.ValueOf([]profiles.SLO{{TTFT: 1}}))
		default:
			switch field.Kind() {
			case reflect.String:
				field.SetString("x")
			case reflect.Int, reflect.Int64:
				field.SetInt(7)
			case reflect.Float64:
				field.SetFloat(0.5)
			case reflect.Bool:
				field.SetBool(true)
			default:
				t.Errorf("the test can not set %s of kind %s", path, field.Kind())
				return
			}
		}
		if got := r.Args(); len(got) <= len(plain) {
			t.Errorf("%s is not on the command line %v", path, got)
		}
	})
}

// TestSizesAreWrittenAsSaid: the unit that was typed comes back.
func TestSizesAreWrittenAsSaid(t *testing.T) {
	for _, text := range []string{"8GiB", "79.19GiB", "80GB", "512MiB", "58.11GiB", "24.5GB", "8589934593"} {
		n, err := units.ParseBytes(text)
		if err != nil || sizeText(n) != text {
			t.Errorf("%s is written %s (%v)", text, sizeText(n), err)
		}
	}
	if got := sizeText(0); got != "" {
		t.Errorf("nothing is written %q", got)
	}
}
