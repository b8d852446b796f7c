package sizing

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// Args are the words of the `llmctl size` command line that asks for the
// request, what was not said left out. What a plan does not tell apart, such as
// the classes and tenants of a workload, is no part of it.
func (r Request) Args() []string {
	r = r.settled()
	args := []string{"llmctl", "size"}
	text := func(flag, value string) {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	count := func(flag string, n int) {
		if n != 0 {
			args = append(args, flag, strconv.Itoa(n))
		}
	}
	number := func(flag string, v float64) {
		if v != 0 {
			args = append(args, flag, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	sc := r.Scenario
	text("--model", sc.Model)
	text("--accelerator", sc.Accelerator)
	text("--engine", sc.Engine)
	count("--tp", sc.Parallel.Tensor)
	count("--pp", sc.Parallel.Pipeline)
	count("--ep", sc.Parallel.Expert)
	count("--dp", sc.Parallel.Data)
	args = append(args, workloadArgs(sc.Workload)...)
	for _, part := range []struct {
		flag  string
		value time.Duration
	}{{"--trace-start", r.TraceStart}, {"--trace-duration", r.TraceDuration}} {
		if part.value != 0 {
			args = append(args, part.flag, part.value.String())
		}
	}
	args = append(args, arrivalArgs(sc.Workload.Arrival)...)
	for _, slo := range sc.SLO {
		text("--slo", slo.String())
	}
	number("--price", sc.Price.USDPerAcceleratorHour)
	text("--weight-dtype", r.WeightDType)
	text("--kv-dtype", r.KVDType)
	text("--prefix-caching", r.PrefixCaching)
	number("--gpu-memory-utilization", r.GPUMemoryUtilization)
	count("--block-size", r.BlockSize)
	count("--max-model-len", r.MaxModelLen)
	count("--max-num-seqs", r.MaxNumSeqs)
	count("--max-num-batched-tokens", r.MaxNumBatchedTokens)
	text("--kv-cache-memory", sizeText(r.KVCacheMemory))
	text("--accelerator-memory", sizeText(r.AcceleratorMemory))
	number("--target-utilization", r.TargetUtilization)
	count("--count", r.Count)
	count("--spare", r.Spare)
	if r.Disaggregate {
		args = append(args, "--disaggregate")
	}
	number("--transfer-bandwidth", r.TransferBandwidth)
	text("--load-profile", r.LoadProfile.String())
	if r.APIPrice.Said() {
		text("--api-price", r.APIPrice.String())
	}
	text("--calibration", r.CalibrationFile)
	return args
}

// workloadArgs names a built-in workload, and spells out what differs from it.
func workloadArgs(w profiles.Workload) []string {
	var args []string
	var base profiles.Workload
	if w.Name != "" && slices.Contains(profiles.WorkloadNames(), w.Name) {
		if known, err := profiles.LoadWorkload(w.Name); err == nil {
			base = *known
			args = append(args, "--workload", w.Name)
		}
	}
	if w.Input.Kind != "" && w.Input != base.Input {
		args = append(args, "--isl", w.Input.String())
	}
	if w.Output.Kind != "" && w.Output != base.Output {
		args = append(args, "--osl", w.Output.String())
	}
	if w.Prefix != (profiles.Prefix{}) && w.Prefix != base.Prefix {
		args = append(args, "--prefix", w.Prefix.String())
	}
	if w.Session.Turns.Kind != "" && w.Session.Turns != base.Session.Turns {
		args = append(args, "--turns", w.Session.Turns.String())
	}
	if w.Session.Think.Kind != "" && w.Session.Think != base.Session.Think {
		args = append(args, "--think", w.Session.Think.String())
	}
	if w.Trace.File != "" {
		args = append(args, "--trace", w.Trace.File)
	}
	if w.Trace.Format != "" {
		args = append(args, "--trace-format", w.Trace.Format)
	}
	return args
}

// arrivalArgs says a load as the flag of its kind, or as --arrival where that says
// more. A ramp of clients is no part of a plan.
func arrivalArgs(a profiles.Arrival) []string {
	a.RampUp = 0
	switch a {
	case profiles.Arrival{Process: a.Process}:
		return nil
	case profiles.Arrival{Process: a.Process, RatePerS: a.RatePerS}:
		return []string{"--rps", strconv.FormatFloat(a.RatePerS, 'f', -1, 64)}
	case profiles.Arrival{Process: a.Process, Concurrency: a.Concurrency}:
		return []string{"--concurrency", strconv.Itoa(a.Concurrency)}
	case profiles.Arrival{Process: a.Process, Count: a.Count}:
		return []string{"--users", strconv.Itoa(a.Count)}
	}
	return []string{"--arrival", a.String()}
}

// sizeText writes an amount of memory as one would: in the largest unit in which it
// has at most two decimals, else in bytes; "" for none.
func sizeText(n int64) string {
	if n == 0 {
		return ""
	}
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}} {
		text := strconv.FormatFloat(math.Round(float64(n)/unit.bytes*100)/100, 'f', -1, 64) + unit.name
		if read, err := units.ParseBytes(text); err == nil && read == n && float64(n) >= unit.bytes {
			return text
		}
	}
	return strconv.FormatInt(n, 10)
}
