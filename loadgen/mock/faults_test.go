package mock

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/internal/openai"
)

var update = flag.Bool("update", false, "rewrite golden files")

// shown is a script in a form that people can check: each write with its time and
// bytes.
func shown(s *Script) string {
	var b strings.Builder
	if s.Status != 0 || len(s.Header) > 0 {
		fmt.Fprintf(&b, "  status %d, header %v\n", s.Status, s.Header)
	}
	if s.Raw {
		b.WriteString("  raw\n")
	}
	for i, p := range s.Pieces {
		text := fmt.Sprintf("%q", p.Data)
		if len(text) > 400 {
			h := fnv.New64a()
			_, _ = h.Write([]byte(p.Data)) // never fails
			text = fmt.Sprintf("%d bytes, FNV-1a %x, %q…", len(p.Data), h.Sum64(), p.Data[:40])
		}
		if i < 40 || i >= len(s.Pieces)-2 {
			fmt.Fprintf(&b, "  %8s %s\n", p.At, text)
		}
		if i == 40 && len(s.Pieces) > 42 {
			fmt.Fprintf(&b, "  … %d writes in all\n", len(s.Pieces))
		}
	}
	fmt.Fprintf(&b, "  end %s", s.End)
	if s.Every > 0 {
		fmt.Fprintf(&b, " every %s", s.Every)
	}
	return b.String() + "\n"
}

// TestFaults holds the bytes of every fault against a file, whose changes are read
// by a person.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the time in the answers
		var got strings.Builder
		body := `{"stream":true,"stream_options":{"include_usage":true},"max_tokens":4,"ignore_eos":true,"messages":[{"role":"user","content":"a b c"}]}`
		server := &Server{TTFT: 50 * time.Millisecond, ITL: 10 * time.Millisecond, Tokens: 4}
		for i := range Faults {
			f := &Faults[i]
			r := &Request{Path: "/v1/chat/completions", Body: []byte(body), index: int64(i)}
			if err := r.parse(); err != nil {
				t.Fatal(err)
			}
			script := f.make(server, r)
			if err := script.check(); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
			fmt.Fprintf(&got, "%s: %s\n%s", f.Name, f.About, shown(script))
		}
		path := filepath.Join("testdata", "faults.golden")
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
			t.Errorf("faults (-want +got), rewrite with -update:\n%s", diff)
		}
	})
}

// Every fault takes every API and every length, without tokens too.
func TestFaultsTakeAllRequests(t *testing.T) {
	for i := range Faults {
		f := &Faults[i]
		for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings"} {
			for _, tokens := range []string{"0", "1", "5"} {
				r := &Request{Path: path, Body: []byte(`{"max_tokens":` + tokens + `,"input":"a"}`)}
				if err := r.parse(); err != nil {
					t.Fatal(err)
				}
				if err := f.make(&Server{TokensPerChunk: 2}, r).check(); err != nil {
					t.Errorf("%s on %s with %s tokens: %v", f.Name, path, tokens, err)
				}
			}
		}
	}
}

func TestFaultNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults {
		if seen[f.Name] || f.About == "" || strings.ContainsAny(f.Name, "= ,%") {
			t.Errorf("fault %q: named twice, not described, or not to be written on a command line", f.Name)
		}
		seen[f.Name] = true
	}
}

func TestParseFaults(t *testing.T) {
	tests := []struct {
		name  string
		texts []string
		want  map[string]float64
		err   string
	}{
		{"none", nil, map[string]float64{}, ""},
		{"all", []string{"crlf"}, map[string]float64{"crlf": 1}, ""},
		{"parts", []string{"crlf=0.25", "cr=50%"}, map[string]float64{"crlf": 0.25, "cr": 0.5}, ""},
		{"the rest is shared", []string{"crlf=0.5", "cr", "bom"}, map[string]float64{"crlf": 0.5, "cr": 0.25, "bom": 0.25}, ""},
		{"too much", []string{"crlf=0.6", "cr=0.6"}, nil, "faults crlf=0.6, cr=0.6: their parts are more than all requests"},
		{"nothing left", []string{"crlf=1", "cr"}, nil, "faults crlf=1, cr: their parts are more than all requests"},
		{"unknown", []string{"clrf"}, nil, `unknown fault "clrf", did you mean "crlf"?`},
		{"no part", []string{"crlf=x"}, nil, `fault "crlf=x": expected a part above 0 and up to 1, as in crlf=0.1 or crlf=10%`},
		{"part of 0", []string{"crlf=0"}, nil, `fault "crlf=0": expected a part above 0 and up to 1, as in crlf=0.1 or crlf=10%`},
		{"no number", []string{"crlf=NaN"}, nil, `fault "crlf=NaN": expected a part above 0 and up to 1, as in crlf=0.1 or crlf=10%`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shares, err := ParseFaults(tt.texts)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			got := map[string]float64{}
			for _, s := range shares {
				got[s.Fault.Name] = s.Part
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("shares (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

// A share of requests has the fault: the same ones for the same seed.
func TestShares(t *testing.T) {
	shares, err := ParseFaults([]string{"crlf=0.2", "cr=0.1"})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(seed uint64) (hits string, counts map[string]int) {
		s, counts := &Server{Faults: shares, Seed: seed}, map[string]int{}
		for i := range int64(10_000) {
			name := "none"
			if f := s.fault(i); f != nil {
				name = f.Name
			}
			counts[name]++
			hits += name[:1]
		}
		return hits, counts
	}
	first, counts := draw(1)
	again, _ := draw(1)
	other, _ := draw(2)
	if first != again || first == other {
		t.Errorf("the seed does not decide: %v, %v", first == again, first != other)
	}
	for name, want := range map[string]int{"crlf": 2000, "cr": 1000, "none": 7000} {
		if got := counts[name]; got < want-200 || got > want+200 { // 5 standard deviations
			t.Errorf("%d requests of 10,000 with %s, want about %d", got, name, want)
		}
	}
}

// A fault that a client should survive is one that our own reader survives: its
// events are JSON, whatever their frame.
func TestHarmlessFaultsAreJSON(t *testing.T) {
	for i := range Faults {
		f := &Faults[i]
		r := &Request{Path: "/v1/chat/completions", Body: []byte(`{"max_tokens":3,"stream_options":{"include_usage":true}}`), index: 2}
		if err := r.parse(); err != nil {
			t.Fatal(err)
		}
		script := f.make(&Server{}, r)
		if f.Fatal || script.Raw || script.Status/100 > 2 {
			continue
		}
		var d openai.Decoder
		d.Push([]byte(script.text()))
		d.End()
		events := 0
		for e, ok := d.Next(); ok; e, ok = d.Next() {
			events++
			if data := strings.TrimSpace(string(e.Data)); data != "[DONE]" && !json.Valid(e.Data) {
				t.Errorf("%s: event %q is no JSON", f.Name, data)
			}
		}
		if events < 4 || d.Err() != nil {
			t.Errorf("%s: %d events, %v", f.Name, events, d.Err())
		}
	}
}
