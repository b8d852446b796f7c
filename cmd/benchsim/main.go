//go:build linux

// Command benchsim measures whole processes of llmctl simulate, for developers
// (`make bench-simulator`): CPU seconds and peak memory of the scenario by which the
// simulator's speed is known, at several sizes.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/llmctl/llmctl/internal/iostreams"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// sizes are the requests, replicas and requests per second of each measurement; the
// long ones only when they are asked for.
var sizes = []struct{ requests, replicas, rate int }{{10_000, 1, 20}, {100_000, 16, 300}, {1_000_000, 16, 300}, {3_000_000, 16, 300}}

// short is the largest size that takes seconds.
const short = 100_000

// run returns the exit code: 1 when a run failed, 2 for a bad command line.
func run(s *iostreams.IO, args []string) int {
	flags := flag.NewFlagSet("benchsim", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	llmctl := flags.String("llmctl", "bin/llmctl", "program to measure")
	scenario := flags.String("scenario", "examples/bench-simulator.yaml", "scenario to simulate")
	most := flags.Int("requests", short, "largest number of requests to simulate, up to 3,000,000")
	if flags.Parse(args) != nil {
		return 2
	}
	_, _ = fmt.Fprintln(s.Out, "| requests | replicas | requests/s offered | CPU seconds | requests per CPU second | peak memory, MB | bytes/request |")
	_, _ = fmt.Fprintln(s.Out, "|---|---|---|---|---|---|---|")
	for _, z := range sizes {
		if z.requests > *most {
			break
		}
		cmd := exec.Command(*llmctl, "simulate", "-f", *scenario, "-o", "json",
			"--requests", strconv.Itoa(z.requests), "--replicas", strconv.Itoa(z.replicas), "--rps", strconv.Itoa(z.rate))
		// Exit code 1 says that the report's objectives were missed.
		if out, err := cmd.Output(); len(out) == 0 {
			_, _ = fmt.Fprintln(s.Err, "error: simulating", z.requests, "requests:", err)
			return 1
		}
		cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		peak := float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 // Linux tells KiB
		_, _ = fmt.Fprintf(s.Out, "| %d | %d | %d | %.2f | %.0f | %.0f | %.0f |\n",
			z.requests, z.replicas, z.rate, cpu, float64(z.requests)/cpu, peak/1e6, peak/float64(z.requests))
	}
	return 0
}
