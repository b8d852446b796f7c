package profiles

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	s, err := ParseScenario([]byte("run: { requests: 10k, warmup: 0s, drain: 1m, seed: 0, repeat: 3 }"))
	if err != nil {
		t.Fatal(err)
	}
	want := Run{Requests: 10_000, Warmup: new(time.Duration), Drain: new(time.Minute), Seed: new(uint64), Repeat: 3}
	if diff := cmp.Diff(want, s.Run); diff != "" {
		t.Error(diff)
	}
	data, err := json.Marshal(s)
	if diff := cmp.Diff(`{"run":{"drain_s":60,"repeat":3,"requests":10000,"seed":0,"warmup_s":0}}`, string(data)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	var said []string
	for key, value := range s.Run.Said {
		said = append(said, key+"="+value)
	}
	if diff := cmp.Diff("requests=10000 warmup=0s drain=1m0s seed=0 repeat=3", strings.Join(said, " ")); diff != "" {
		t.Error(diff)
	}
}

func TestRunOver(t *testing.T) {
	top := Run{Duration: time.Minute, Seed: new(uint64(0))}
	base := Run{Requests: 5, Seed: new(uint64(7)), Drain: new(time.Second)}
	if diff := cmp.Diff(Run{Duration: time.Minute, Seed: new(uint64(0)), Drain: new(time.Second)}, top.Over(base)); diff != "" {
		t.Error(diff)
	}
	if got := (Run{}).Over(base); got.Requests != 5 {
		t.Errorf("%+v", got)
	}
}

func TestRunErrors(t *testing.T) {
	for text, want := range map[string]string{
		"run: { requests: 5, duration: 1m }": "both bound the run",
		"run: { requests: 0.5 }":             "not a whole number",
		"run: { warmup: -1s }":               "-1s is outside 0s",
		"run: { duration: 0s }":              "expected more than 0, or leave it out",
		"run: { requests: 0 }":               "0 is outside 1",
		"run: { seed: -1 }":                  "-1 is outside 0",
		"run: { seeds: 3 }":                  `did you mean "seed"`,
		"run: { repeat: 5000 }":              "5000 is outside 1 to 1000",
		"run: [1]":                           "run",
	} {
		if _, err := ParseScenario([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}
