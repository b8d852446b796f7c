package sizing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// The batch limits that are tried where the request leaves them open: the powers
// of two around the engines' own defaults.
var (
	sequenceLimits = []int{1024, 512, 256, 128, 64} // most first: what holds for a capacity often holds for less
	tokenLimits    = []int{16384, 8192, 4096, 2048}
)

// job is what one goroutine works on at a time: one accelerator, one format of
// the weights and one of the cache.
type job struct {
	device  *profiles.Accelerator
	ref     string // its name, or the file that describes it
	weights string
	kv      string
}

// explorer holds what all jobs share.
type explorer struct {
	SearchRequest
	model    *profiles.Model
	names    []string // of the accelerators
	sloGiven bool

	experts, expertWidth int // of the model's widest layer of routed experts

	weighed *weighings

	jobs []job
}

// newExplorer lists the jobs.
func newExplorer(r SearchRequest) (*explorer, error) {
	x := &explorer{SearchRequest: r, sloGiven: len(r.Scenario.SLO) > 0, weighed: &weighings{done: map[weighingKey]weighing{}}}
	x.samples = &samples{}
	// How many replicas there are is what a search finds.
	x.Scenario.Cluster.Replicas = 0
	x.Request = x.settled()
	if r.Disaggregate {
		return nil, fmt.Errorf("--disaggregate compares the pools of one plan: add it to a command that the search prints")
	}
	if r.Scenario.Model == "" {
		return nil, fmt.Errorf("--model is missing, expected a name such as llama-3.1-8b, a config.json or a folder with one")
	}
	var err error
	if x.model, err = profiles.LoadModel(r.Scenario.Model); err != nil {
		return nil, err
	}
	x.experts, x.expertWidth = widestExperts(x.model)
	names := r.Accelerators
	if len(names) == 0 {
		names = slices.DeleteFunc(profiles.AcceleratorNames(), func(name string) bool { return name == profiles.CPU }) // nothing to buy
	}
	for i, name := range names {
		device, err := profiles.LoadAccelerator(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("accelerator %s is listed twice", name)
		}
		ref := name
		if strings.EqualFold(name, device.Name) {
			ref = device.Name
		}
		x.names = append(x.names, ref)
		for _, weights := range x.weightFormats(device) {
			for _, kv := range x.cacheFormats(device) {
				x.jobs = append(x.jobs, job{device, ref, weights, kv})
			}
		}
	}
	return x, nil
}

// weightFormats are the model's own, which is "", and unless that is quantized
// already the 8-bit format that the device computes in and int4.
func (x *explorer) weightFormats(device *profiles.Accelerator) []string {
	switch {
	case x.WeightDType != "":
		return []string{x.WeightDType}
	case x.model.Quantization.Method != "":
		return []string{""}
	case device.FP8FlopsPerS > 0:
		return []string{"", "fp8", "int4"}
	}
	return []string{"", "int8", "int4"}
}

// cacheFormats are that of the activations, which is "", and fp8 on devices that
// compute in it.
func (x *explorer) cacheFormats(device *profiles.Accelerator) []string {
	switch {
	case x.KVDType != "":
		return []string{x.KVDType}
	case device.FP8FlopsPerS > 0:
		return []string{"", "fp8"}
	}
	return []string{""}
}

// limitsOf are the batch limits to try.
func limitsOf(said int, open []int) []int {
	if said > 0 {
		return []int{said}
	}
	return open
}

// quality names what a situation stores in fewer bits than the model is
// published in.
func (s *situation) quality() []string {
	var reduced []string
	own := shape.FormatOf(s.model)
	if s.format.Quantization.Method != "" && s.format.Quantization.Method != own.Quantization.Method {
		reduced = append(reduced, s.format.String()+" weights")
	}
	if s.kv.Bytes() < s.format.Base.Bytes() {
		reduced = append(reduced, string(s.kv)+" cache")
	}
	return reduced
}

// duration of a number of seconds.
func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
