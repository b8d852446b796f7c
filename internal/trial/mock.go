package trial

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
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Mock is an exact mock server in a process of its own.
type Mock struct {
	cmd *exec.Cmd
	URL string // without /v1
}

// Answers are what a mock says: so many tokens, at these times.
type Answers struct {
	TTFT, ITL time.Duration
	Tokens    int
}

var announced = regexp.MustCompile(`http://\S+?/v1`)

// RealTime reports whether the mock may keep its times although a tool fills all
// cores, which on Linux is up to root.
func RealTime() bool { return os.Geteuid() == 0 }

// StartMock starts a mock on a free loopback port, with the llmctl at that path.
func StartMock(llmctl string, a Answers) (*Mock, error) {
	cmd := exec.Command(llmctl, "mock", fmt.Sprintf("--realtime=%v", RealTime()), "--addr", "127.0.0.1:0", "--ttft", a.TTFT.String(), "--itl", a.ITL.String(), "--tokens", strconv.Itoa(a.Tokens))
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the mock: %w", err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	m := &Mock{cmd, strings.TrimSuffix(announced.FindString(line), "/v1")}
	if err != nil || m.URL == "" {
		m.Stop()
		return nil, fmt.Errorf("starting the mock: it said %q", line)
	}
	return m, nil
}

// Stop ends it.
func (m *Mock) Stop() {
	_ = m.cmd.Process.Signal(os.Interrupt)
	_ = m.cmd.Wait() // an interrupted mock has nothing more to say
}

// Lateness is an upper bound of the 99th percentile of the lateness of the mock's
// writes, in seconds: the end of the bucket that it is in. It is NaN when the mock
// can not be asked.
func (m *Mock) Lateness() float64 {
	response, err := http.Get(m.URL + "/metrics")
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

// CheckMock has the mock measure itself, as the text that it prints.
func CheckMock(ctx context.Context, llmctl string) (string, error) {
	var all strings.Builder
	for _, n := range []string{"1", "100", "500", "1000"} {
		out, err := exec.CommandContext(ctx, llmctl, "mock", fmt.Sprintf("--realtime=%v", RealTime()), "--check", "--check-streams", n, "--check-duration", "2s").Output()
		if len(out) == 0 {
			return "", fmt.Errorf("checking the mock: %w", err)
		}
		all.Write(out) // a mock that is not exact says so in its numbers
	}
	return all.String(), nil
}
