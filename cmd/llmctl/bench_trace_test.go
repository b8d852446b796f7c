package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/mock"
	"github.com/llmctl/llmctl/reports"
)

// Traces with fewer requests than a calibration looks at, as many, and more are
// replayed at their own times.
func TestTraceOfAnyLength(t *testing.T) {
	url := mockEndpoint(t, &mock.Server{})
	for _, rows := range []int{1, 2, sampled - 1, sampled, sampled + 1} {
		var b strings.Builder
		b.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
		at := time.Date(2024, 5, 12, 0, 0, 0, 0, time.UTC)
		for i := range rows {
			fmt.Fprintf(&b, "%s,%d,2\n", at.Add(time.Duration(i)*time.Millisecond).Format("2006-01-02 15:04:05.000"), 20+i)
		}
		path := filepath.Join(t.TempDir(), "trace.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			part []string
			want int
		}{
			{nil, rows},
			{[]string{"--trace-duration", "1ms"}, 1},
			{[]string{"--trace-start", strconv.Itoa(rows-1) + "ms"}, 1},
			{[]string{"--trace-start", strconv.Itoa(rows) + "ms"}, 0},
		} {
			args := append([]string{"bench", "--endpoint", url, "--trace", path, "--calibrate", "auto", "--ui", "none", "-o", "json"}, tt.part...)
			code, stdout, stderr := llmctl(t, nil, args...)
			if tt.want == 0 {
				if code != exitUsage || !strings.Contains(stderr, fmt.Sprintf("none of %d row", rows)) || strings.Contains(stderr, "goroutine") {
					t.Errorf("%d rows, %v: exit code %d\n%s", rows, tt.part, code, stderr)
				}
				continue
			}
			var r reports.Report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatalf("%d rows, %v: exit code %d, %v\n%s", rows, tt.part, code, err, stderr)
			}
			if r.Requests.OK != tt.want {
				t.Errorf("%d rows, %v: %d requests answered, want %d\n%s", rows, tt.part, r.Requests.OK, tt.want, stderr)
			}
		}
	}
}
