package fit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Steps without prompts and drafts become a point for each number of sequences.
func TestStepsBecomePoints(t *testing.T) {
	var log strings.Builder
	for i := range 9 {
		fmt.Fprintf(&log, `{"step":%d,"start_s":1,"duration_s":%g,"decodes":4,"decode_context_tokens":%d,"tokens":4,"kv_cache_usage":0.1}`+"\n", i, 0.010+0.001*float64(i), 4*(100+2*i))
		fmt.Fprintf(&log, `{"duration_s":0.02,"decodes":2,"decode_context_tokens":20,"tokens":2}`+"\n\n")
		fmt.Fprintf(&log, `{"duration_s":9,"decodes":2,"decode_context_tokens":20,"prefill":[{"tokens":5,"context_tokens":0}]}`+"\n")
		fmt.Fprintf(&log, `{"duration_s":9,"decodes":2,"decode_context_tokens":20,"draft_tokens":3}`+"\n")
	}
	log.WriteString(`{"duration_s":9,"decodes":3,"decode_context_tokens":3}` + "\n")
	rows, err := ReadSteps(strings.NewReader(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		var line []string
		for _, name := range []string{"concurrency", "isl", "cached", "osl", "tpot_ms"} {
			line = append(line, r.Text(name))
		}
		got = append(got, strings.Join(line, " "))
	}
	if diff := cmp.Diff([]string{"2 2 1 16 20", "4 100 99 16 14"}, got); diff != "" {
		t.Errorf("concurrency, isl, cached, osl, tpot_ms (-want +got):\n%s", diff)
	}
}

func TestReadStepsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"no JSON":           {"step\n", "line 1: "},
		"no step":           {"{}\n", "line 1: a step of 0 s"},
		"a negative number": {`{"duration_s":1,"decodes":-1}`, "with -1 decodes"},
		"too few steps":     {`{"duration_s":1,"decodes":1,"decode_context_tokens":1}`, "8 steps without prompts"},
		"nothing":           {"", "8 steps without prompts"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadSteps(strings.NewReader(c.log)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzReadSteps(f *testing.F) {
	f.Add(strings.Repeat(`{"duration_s":1e-3,"decodes":1,"decode_context_tokens":5}`+"\n", 8))
	f.Fuzz(func(t *testing.T, log string) {
		rows, err := ReadSteps(strings.NewReader(log))
		if (err == nil) != (len(rows) > 0) {
			t.Errorf("%d points and error %v", len(rows), err)
		}
	})
}
