package route

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestComplexity(t *testing.T) {
	hint := func(v float64) *float64 { return &v }
	tests := []struct {
		name    string
		signals Signals
		want    float64
	}{
		{"nothing", Signals{}, 0},
		{"a long prompt", Signals{PromptTokens: 8000}, 0.5},
		{"eight tools", Signals{Tools: 8}, 0.5},
		{"four tools of a KiB", Signals{Tools: 4, ToolBytes: 4096}, 0.5},
		{"code", Signals{CodeMarkers: 8}, 0.5},
		{"all three", Signals{PromptTokens: 8000, Tools: 8, CodeMarkers: 8}, 0.875},
		{"the caller says it is easy", Signals{PromptTokens: 80000, Hint: hint(0)}, 0},
		{"the caller says it is hard", Signals{Hint: hint(1)}, 1},
		{"nonsense stays in range", Signals{PromptTokens: -5, Tools: -1, Hint: hint(7)}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Complexity(test.signals); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("Complexity(%+v) = %g, want %g", test.signals, got, test.want)
			}
		})
	}
}

func TestComplexityGrowsWithEachSignal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Signals{
			PromptTokens: rapid.Int64Range(0, 1e6).Draw(t, "tokens"), Tools: rapid.IntRange(0, 200).Draw(t, "tools"),
			ToolBytes: rapid.IntRange(0, 1e6).Draw(t, "bytes"), CodeMarkers: rapid.IntRange(0, 1e4).Draw(t, "markers"),
		}
		if rapid.Bool().Draw(t, "hinted") {
			h := rapid.Float64Range(0, 1).Draw(t, "hint")
			s.Hint = &h
		}
		before := Complexity(s)
		if before < 0 || before > 1 {
			t.Fatalf("score %g", before)
		}
		more := s
		by := rapid.IntRange(1, 1000).Draw(t, "by")
		switch rapid.IntRange(0, 4).Draw(t, "signal") {
		case 0:
			more.PromptTokens += int64(by)
		case 1:
			more.Tools += by
		case 2:
			more.ToolBytes += by
		case 3:
			more.CodeMarkers += by
		case 4:
			if s.Hint != nil {
				h := *s.Hint + float64(by)/1000
				more.Hint = &h
			}
		}
		if after := Complexity(more); after < before {
			t.Fatalf("%+v scores %g, %+v only %g", s, before, more, after)
		}
	})
}

func TestParseHint(t *testing.T) {
	for text, want := range map[string]float64{"low": 0, "HIGH": 1, "0.25": 0.25, "1": 1, "0": 0} {
		if got, ok := ParseHint(text); !ok || got != want {
			t.Errorf("ParseHint(%q) = %g, %t, want %g", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "medium", "1.5", "-0.1", "NaN", "inf"} {
		if got, ok := ParseHint(text); ok {
			t.Errorf("ParseHint(%q) = %g, want it refused", text, got)
		}
	}
}

func TestCodeMarkers(t *testing.T) {
	tests := []struct {
		name, raw string
		want      int
	}{
		{"prose", `[{"role":"user","content":"First, tell me.\nThen stop."}]`, 0},
		{"a fence", "[{\"content\":\"```go\\nx\\n```\"}]", 2},
		{"lines of C", `"int main() {\n  return 0;\n}\n"`, 3},
		{"lines of C from Windows", `"int main() {\r\n  return 0;\r\n}\r\n"`, 3},
		{"a Python function", `"def f(x):\n  return x\n"`, 1},
		{"a backslash and an n are no line", `"{\\n"`, 0},
		{"empty lines", `"\n\n\n"`, 0},
		{"nothing", "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := CodeMarkers(test.raw); got != test.want {
				t.Errorf("CodeMarkers(%s) = %d, want %d", test.raw, got, test.want)
			}
		})
	}
}

func FuzzCodeMarkers(f *testing.F) {
	f.Add(`"a;\nb{\r\n"`)
	f.Add("```")
	f.Fuzz(func(t *testing.T, raw string) {
		if n := CodeMarkers(raw); n < 0 || n > len(raw) {
			t.Errorf("%d markers in %d bytes", n, len(raw))
		}
	})
}

func BenchmarkCodeMarkers(b *testing.B) {
	raw := strings.Repeat(`a line of some sixty characters, as prose and code have it, yes;\n`, 16<<10)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		CodeMarkers(raw)
	}
}
