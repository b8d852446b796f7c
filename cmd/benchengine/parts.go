package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// part is a Go benchmark of one part of the engine.
type part struct {
	name   string
	values map[string]float64 // by unit: "ns/op", "GB/s", …
}

// benchmarks are those that the page shows.
var benchmarks = []struct{ pkg, pattern string }{
	{"./engine/sched", "^BenchmarkStep$"},
	{"./engine/cpu/matrix", "^BenchmarkMultiply$/^Q4_1$"},
}

// schedulerStep is the benchmark with 256 requests running and 1,000 waiting.
const schedulerStep = "BenchmarkStep/fcfs"

// benchmarkParts runs the benchmarks of the package sources below the current folder.
func (o *options) benchmarkParts(ctx context.Context) (parts []part, err error) {
	for _, b := range benchmarks {
		out, err := exec.CommandContext(ctx, o.golang, "test", "-run", "^$", "-bench", b.pattern, "-cpu", strconv.Itoa(o.threads), b.pkg).CombinedOutput()
		if err != nil {
			return parts, fmt.Errorf("running the benchmarks of %s: %w: %s", b.pkg, err, out[max(0, len(out)-300):])
		}
		parts = append(parts, readParts(string(out), o.threads)...)
	}
	return parts, nil
}

// readParts reads what go test prints: a name with the number of processors, how
// often it ran, and values with their units.
func readParts(text string, processors int) (parts []part) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		p := part{strings.TrimSuffix(fields[0], fmt.Sprintf("-%d", processors)), map[string]float64{}}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break // a line of another form
			}
			p.values[fields[i+1]] = v
		}
		parts = append(parts, p)
	}
	return parts
}
