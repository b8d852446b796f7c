package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// used is what a process and its children took.
type used struct {
	cpu time.Duration
	rss int64 // bytes, of all of them together, at most
}

// toolTimeout is how long one run of a tool may take: some need half a minute on
// two busy cores to start their workers.
const toolTimeout = 5 * time.Minute

// runTool runs a program to its end. Its error carries the end of its output.
func runTool(ctx context.Context, command, env []string) (u used, err error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	together(cmd)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return u, err
	}
	done := make(chan struct{})
	largest := make(chan int64)
	go func() { largest <- watchMemory(cmd.Process.Pid, done) }()
	err = cmd.Wait()
	close(done)
	u.rss = <-largest
	if cmd.ProcessState != nil { // includes children that it waited for
		u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err != nil {
		text := strings.TrimSpace(output.String())
		err = fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, text[max(0, len(text)-500):])
	}
	return u, err
}

// watchMemory is the largest resident memory of a process group, looked at five
// times a second. Pages that processes share count once for each.
func watchMemory(group int, done <-chan struct{}) (largest int64) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		largest = max(largest, groupMemory(group))
		select {
		case <-done:
			return largest
		case <-tick.C:
		}
	}
}

// groupMemory adds up field 24 of /proc/PID/stat over the processes whose group,
// field 5, it is (proc_pid_stat(5)).
func groupMemory(group int) (bytes int64) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may hold spaces
		fields := strings.Fields(rest)
		if len(fields) < 22 || fields[2] != strconv.Itoa(group) {
			continue
		}
		pages, err := strconv.ParseInt(fields[21], 10, 64)
		if err == nil {
			bytes += pages * int64(os.Getpagesize())
		}
	}
	return bytes
}

// mockProcess is a mock server in a process of its own.
type mockProcess struct {
	cmd *exec.Cmd
	url string // without /v1
}

var announced = regexp.MustCompile(`http://\S+?/v1`)

// realTime reports whether the mock may keep its times although a tool fills all
// cores, which on Linux is up to root.
func realTime() bool { return os.Geteuid() == 0 }

func startMock(llmctl string, l load) (*mockProcess, error) {
	cmd := exec.Command(llmctl, "mock", fmt.Sprintf("--realtime=%v", realTime()), "--addr", "127.0.0.1:0", "--ttft", l.ttft.String(), "--itl", l.itl.String(), "--tokens", strconv.Itoa(l.tokens))
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the mock: %w", err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	m := &mockProcess{cmd, strings.TrimSuffix(announced.FindString(line), "/v1")}
	if err != nil || m.url == "" {
		m.stop()
		return nil, fmt.Errorf("starting the mock: it said %q", line)
	}
	return m, nil
}

func (m *mockProcess) stop() {
	_ = m.cmd.Process.Signal(os.Interrupt)
	_ = m.cmd.Wait() // an interrupted mock has nothing more to say
}

// lateness is an upper bound of the 99th percentile of the lateness of the mock's
// writes, in seconds: the end of the bucket that it is in. It is NaN when the mock
// can not be asked.
func (m *mockProcess) lateness() float64 {
	response, err := http.Get(m.url + "/metrics")
	if err != nil {
		return math.NaN()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return math.NaN()
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	page, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	family := page["llmctl_mock_write_lateness_seconds"]
	if err != nil || len(family.GetMetric()) == 0 {
		return math.NaN()
	}
	h := family.GetMetric()[0].GetHistogram()
	for _, b := range h.GetBucket() {
		if float64(b.GetCumulativeCount()) >= 0.99*float64(h.GetSampleCount()) {
			return b.GetUpperBound()
		}
	}
	return math.Inf(1)
}

// checkMock has the mock measure itself, as the text that it prints.
func checkMock(ctx context.Context, llmctl string) (string, error) {
	var all strings.Builder
	for _, n := range []string{"1", "100", "500", "1000"} {
		out, err := exec.CommandContext(ctx, llmctl, "mock", fmt.Sprintf("--realtime=%v", realTime()), "--check", "--check-streams", n, "--check-duration", "2s").Output()
		if len(out) == 0 {
			return "", fmt.Errorf("checking the mock: %w", err)
		}
		all.Write(out) // a mock that is not exact says so in its numbers
	}
	return all.String(), nil
}
