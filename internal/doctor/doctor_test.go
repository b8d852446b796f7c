package doctor

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/gpu"
)

func TestJudgements(t *testing.T) {
	unreadable := errors.New("unreadable")
	cases := []struct {
		name   string
		check  Check
		want   Status
		advice bool
	}{
		{"plenty of files", judgeFiles(1<<20, nil), Pass, false},
		{"few files", judgeFiles(1024, nil), Warn, true},
		{"hardly any files", judgeFiles(64, nil), Fail, true},
		{"unlimited files", judgeFiles(1<<64-1, nil), Pass, false},
		{"unknown files", judgeFiles(0, unreadable), Warn, false},
		{"usual ports", judgePorts(32768, 60999, nil), Pass, false},
		{"narrow ports", judgePorts(32768, 40000, nil), Warn, true},
		{"hardly any ports", judgePorts(32768, 32868, nil), Fail, true},
		{"unknown ports", judgePorts(0, 0, unreadable), Warn, false},
		{"exact timer", judgeTimer(60 * time.Microsecond), Pass, false},
		{"late timer", judgeTimer(5 * time.Millisecond), Warn, true},
		{"useless timer", judgeTimer(50 * time.Millisecond), Fail, true},
		{"idle machine", judgeCPU(8, 0.5, nil), Pass, false},
		{"busy machine", judgeCPU(2, 7, nil), Warn, true},
		{"no GPU", describeGPUs(nil, unreadable), Pass, false},
		{"unknown load", judgeCPU(8, 0, unreadable), Pass, false},
		{"one GPU", describeGPUs([]gpu.Device{{Name: "NVIDIA H200", MemoryBytes: 1 << 37}}, nil), Pass, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.check.Status != c.want || (c.check.Advice != "") != c.advice {
				t.Errorf("got %+v, want status %s, advice %v", c.check, c.want, c.advice)
			}
			if c.check.Seen == "" {
				t.Error("the check does not say what it saw")
			}
		})
	}
}

// A system that does not tell is no error with the path of a file.
func TestNotKnown(t *testing.T) {
	_, err := readFile("/proc/no/such/file")
	for _, c := range []Check{judgePorts(0, 0, err), judgeFiles(0, err)} {
		if c.Seen != "not known on this system" || c.Status == Fail {
			t.Errorf("%+v", c)
		}
	}
	if c := judgeCPU(8, 0, err); c.Seen != "8 cores, load not known on this system" || c.Status != Pass {
		t.Errorf("%+v", c)
	}
}

func TestRunLooksAtEverything(t *testing.T) {
	checks := Run()
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
	}
	if len(checks) != 5 {
		t.Errorf("checks %q, want 5 of them", names)
	}
	if Failed([]Check{{Status: Pass}, {Status: Warn}}) || !Failed([]Check{{Status: Fail}}) {
		t.Error("only a failed check is a failure")
	}
}

func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	if m := Memory(); m < 64<<20 || m > 1<<50 {
		t.Errorf("this machine has %d bytes of memory, expected between 64 MiB and 1 PiB", m)
	}
}
