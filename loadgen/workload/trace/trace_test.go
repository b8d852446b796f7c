package trace_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/loadgen/workload/trace"
)

// session is a session of a trace in short.
func session(index int64, offset time.Duration, turns ...workload.Turn) workload.Session {
	for i := range turns {
		turns[i].Group = workload.NoGroup
	}
	return workload.Session{Index: index, Offset: offset, Turns: turns}
}

func lengths(input, output int) workload.Turn { return workload.Turn{Input: input, Output: output} }

func TestLoad(t *testing.T) {
	const estimated = "lengths of texts are estimated, 4 bytes a token"
	const models = "the models of the trace are not asked for; all requests go to the one under test"
	tests := []struct {
		file string
		want []workload.Session
		rest trace.Report // what Load adds to File, Sessions and Requests
	}{
		{"azure-2023.csv", []workload.Session{
			session(0, 0, lengths(374, 44)),
			session(1, 3541877*time.Microsecond, lengths(879, 55)),
			session(2, 4314579*time.Microsecond, lengths(396, 109)),
		}, trace.Report{
			Format: "azure", Rows: 4, Timed: true,
			LeftOut: []trace.Skip{{Reason: "no answer, GeneratedTokens is 0", Count: 1, Line: 5, Column: 32}},
			Notes:   []string{"timestamps before one above them: 1, the first at line 4; the requests were sorted"},
		}},
		{"burstgpt-1.csv", []workload.Session{
			session(0, 0, lengths(472, 18)),
			session(1, 40*time.Second, lengths(1087, 230)),
			session(2, 113*time.Second, lengths(417, 276)),
		}, trace.Report{
			Format: "burstgpt", Rows: 4, Timed: true, Notes: []string{models},
			LeftOut: []trace.Skip{{Reason: "no answer, Response tokens is 0", Count: 1, Line: 5, Column: 15}},
		}},
		{"burstgpt-3.csv", []workload.Session{
			session(0, 0, lengths(100, 50), workload.Turn{Input: 30, Output: 20, Think: 6 * time.Second}),
			session(1, 3*time.Second, lengths(36, 29)),
			session(2, 12*time.Second, lengths(300, 20)), // before the answer of the turn before it
			session(3, 30500*time.Millisecond, lengths(90, 20)),
		}, trace.Report{
			Format: "burstgpt", Rows: 6, Timed: true,
			LeftOut: []trace.Skip{{Reason: "no answer, Response tokens is 0", Count: 1, Line: 7, Column: 22}},
			Notes:   []string{models, "a request of a session whose prompt is longer than prompt and answer before it continues the conversation; the difference is its message"},
		}},
		{"mooncake.jsonl", []workload.Session{
			session(0, 0, workload.Turn{Input: 1100, Output: 500, Hashes: []uint64{0, 1, 2}}),
			session(1, 0, workload.Turn{Input: 1024, Output: 490, Hashes: []uint64{0, 3}}),
			session(2, 3052*time.Millisecond, workload.Turn{Input: 300, Output: 16, Hashes: []uint64{4}}),
		}, trace.Report{Format: "mooncake", Rows: 3, Timed: true}},
		{"mooncake-sessions.jsonl", []workload.Session{
			session(0, 0, lengths(300, 40), workload.Turn{Input: 50, Output: 20, Think: 2500 * time.Millisecond}),
			session(1, 500*time.Millisecond, workload.Turn{Text: "what is a token?", Input: 4, Output: 8},
				workload.Turn{Input: 9, Output: 10, Think: 3 * time.Second}),
		}, trace.Report{Format: "mooncake", Rows: 4, Timed: true, Notes: []string{estimated,
			"requests with a session_id are turns of one conversation: input_length is the new message, and the earlier turns go before it",
			"without a delay, the time between two requests of a session is taken for think time"}}},
		{"sharegpt.json", []workload.Session{
			session(0, 0, workload.Turn{Text: "Name a prime above ten.", Input: 6, Output: 4},
				workload.Turn{Text: `And the "next" [one]?`, Input: 6, Output: 3}),
			session(1, 0, workload.Turn{Text: "Be brief.\n\nWhy?\n\nPlease.", Input: 6, Output: 2}),
		}, trace.Report{
			Format: "sharegpt", Rows: 3,
			LeftOut: []trace.Skip{{Reason: "no message with an answer", Count: 1, Line: 16, Column: 3}},
			Notes:   []string{estimated, "the trace has no times; the arrival process decides when conversations begin"},
		}},
		{"bodies.jsonl", []workload.Session{
			session(0, 0, workload.Turn{Input: 5, Output: 32,
				Body: []byte(`{"model": "gpt-4o", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hello there"}]}], "max_tokens": 32}`)}),
			session(1, 0, workload.Turn{Input: 4, Body: []byte(`{"model": "m", "prompt": "once upon a time"}`)}),
		}, trace.Report{Format: "bodies", Rows: 2, Notes: []string{estimated}}},
		{"bodies-timed.jsonl", []workload.Session{
			session(0, 0, workload.Turn{Input: 5, Output: 7,
				Body: []byte(`{"messages": [{"role": "user", "content": "one two three four"}], "max_completion_tokens": 7}`)}),
			session(1, 1500*time.Millisecond, workload.Turn{Input: 1, Output: 9,
				Body: []byte(`{ "messages": [{"role": "user", "content": "five"}],"max_tokens":9}`)}),
		}, trace.Report{Format: "bodies", Rows: 2, Timed: true, Notes: []string{estimated}}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			path := filepath.Join("testdata", tt.file)
			got, report, err := trace.Load(path, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
			want := tt.rest
			want.File, want.Sessions = path, len(tt.want)
			for _, s := range tt.want {
				want.Requests += len(s.Turns)
			}
			want.Span = tt.want[len(tt.want)-1].Offset
			if diff := cmp.Diff(&want, report); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

// The ids of Bailian are of 16 tokens each; two prompts that share 32 of them
// share one block of 512.
func TestBlocksAreRegrouped(t *testing.T) {
	got, report, err := trace.Load("testdata/bailian.jsonl", trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := got[0].Turns[0].Hashes, got[1].Turns[0].Hashes
	if len(first) != 2 || len(second) != 2 || first[0] != second[0] || first[1] == second[1] {
		t.Errorf("blocks %v and %v", first, second)
	}
	if got[1].Offset != 1386*time.Millisecond {
		t.Errorf("second request at %v", got[1].Offset)
	}
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, "blocks of 16 tokens were regrouped to blocks of 512") {
		t.Errorf("notes %s", notes)
	}
}

func TestSkipped(t *testing.T) {
	good := func(n int) string { return strings.Repeat("2024-05-10 00:00:01,5,6\n", n) }
	const header = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	const json = `{"timestamp":1,"input_length":3,"output_length":4}` + "\n"
	tests := []struct{ name, text, want string }{
		{"negative", header + good(200) + "2024-05-10 00:00:01,5,-6\n", `1 of 201 rows broken and skipped at line 202, column 23: negative count of tokens in GeneratedTokens "-6"`},
		{"absurd", header + good(200) + "2024-05-10 00:00:01,99999999999999999999,6\n", `line 202, column 21: absurd count of tokens in ContextTokens "99999999999999999999"`},
		{"no number", header + good(200) + "2024-05-10 00:00:01,five,6\n", `line 202, column 21: no count of tokens in ContextTokens "five"`},
		{"no time", header + good(200) + "\nyesterday,5,6\n", `line 203, column 1: no date and time in TIMESTAMP "yesterday"`},
		{"fields", header + good(200) + "2024-05-10 00:00:01,5\n", `line 202, column 1: other than 3 fields`},
		{"quotes", header + good(200) + "2024-05-10 00:00:01,\"5,6\n", `line 202, column 21: quotes that do not end, or text after them`},
		{"one of seven", header + good(6) + "a,5,6\n", `1 of 7 rows broken and skipped at line 8, column 1: no date and time in TIMESTAMP "a"`},
		{"twice", header + good(100) + "a,5,6\n" + good(100) + "b,5,6\n", `2 of 202 rows broken and skipped, the first one at line 102, column 1: no date and time in TIMESTAMP "a"`},
		{"JSON cut short", strings.Repeat(json, 200) + `{"timestamp":1,` + "\n", `line 201, column 15: no JSON`},
		{"JSON of another kind", strings.Repeat(json, 200) + "[]\n", `expected an object`},
		{"wrong type", strings.Repeat(json, 200) + `{"timestamp":1,"input_length":3,"output_length":4,"hash_ids":["a"]}` + "\n", `hash_ids: expected a whole number`},
		{"key missing", strings.Repeat(json, 200) + `{"timestamp":1,"input_length":3}` + "\n", `line 201, column 1: output_length is missing`},
		{"time missing", strings.Repeat(json, 200) + `{"input_length":3,"output_length":3}` + "\n", `line 201, column 1: timestamp is missing`},
		{"fraction of a token", strings.Repeat(json, 200) + `{"timestamp":1,"input_length":3.5,"output_length":3}` + "\n", `no count of tokens in input_length "3.5"`},
		{"ids without tokens", strings.Repeat(json, 200) + `{"timestamp":1,"input_length":3,"output_length":3,"hash_ids":[1,2,3]}` + "\n", ``},
		{"more ids than blocks", `{"timestamp":1,"input_length":1000,"output_length":3,"hash_ids":[1,2]}` + "\n" + strings.Repeat(json, 200) +
			`{"timestamp":1,"input_length":3,"output_length":3,"hash_ids":[1,2,3]}` + "\n", `line 202, column 1: more hash_ids than the prompt has blocks`},
		{"body without prompt", strings.Repeat(`{"prompt":"a"}`+"\n", 200) + `{"body":{"model":"m"}}` + "\n", `line 201, column 9: body with none of messages, prompt and input`},
		{"body that is text", strings.Repeat(`{"prompt":"a"}`+"\n", 200) + `{"body":"x"}` + "\n", `line 201, column 9: body that is no object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, report, err := trace.Read(strings.NewReader(tt.text), "file", trace.Options{})
			if tt.want == "" {
				tt.want = "more hash_ids than the prompt has blocks"
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(report.Skipped(), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("skipped %q, want %q", got, tt.want)
			}
			if _, _, err := trace.Read(strings.NewReader(tt.text), "file", trace.Options{Strict: true}); err == nil || !strings.Contains(err.Error(), "no broken row is allowed") {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	const header = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	tests := []struct {
		name, text, want string
		options          trace.Options
	}{
		{"empty", "", "the file is empty", trace.Options{}},
		{"blank", "\n \n", "the file is empty", trace.Options{}},
		{"header alone", header, "the file is empty", trace.Options{}},
		{"nothing to send", header + "2024-05-10 00:00:00,5,0\n", "none of 1 rows has a request to send: line 2, column 23: no answer", trace.Options{}},
		{"too many broken", header + "2024-05-10 00:00:00,5,6\nx,5,6\n", `1 of 2 rows are broken, more than the 1%, or 3 rows, that are skipped: line 3, column 1: no date and time in TIMESTAMP "x"`, trace.Options{}},
		{"four broken of some", header + strings.Repeat("x,5,6\n", 4) + strings.Repeat("2024-05-10 00:00:00,5,6\n", 50), "4 of 54 rows are broken", trace.Options{}},
		{"column missing", "TIMESTAMP,ContextToken,GeneratedTokens\n", `line 1: column "ContextTokens" is missing, the nearest is "ContextToken"`, trace.Options{}},
		{"unknown table", "a,b\n1,2\n", `it is none of the formats azure, bodies, burstgpt, mooncake, sharegpt: the first line is "a,b"`, trace.Options{}},
		{"unknown object", `{"a":{"messages":1},"b":[{"prompt":1}]}`, `the first object has the keys "a, b"`, trace.Options{}},
		{"unknown format", header, `format "azur" is not known, expected one of azure, bodies, burstgpt, mooncake, sharegpt, did you mean "azure"?`, trace.Options{Format: "azur"}},
		{"another format", `{"prompt":"a"}` + "\n", `line 1: column "TIMESTAMP" is missing`, trace.Options{Format: "azure"}},
		{"list cut short", `[{"conversations":[]},`, "the file ends before its list does", trace.Options{}},
		{"conversation cut short", `[{"conversations":[` + "\n", "the file ends inside of the object that begins at line 1, column 2", trace.Options{}},
		{"text between conversations", `[{"conversations":[]} x]`, `line 1, column 23: unexpected 'x', expected an object`, trace.Options{}},
		{"part of a trace without times", `{"prompt":"a"}`, "a part by time is asked for, and the trace has no times", trace.Options{Start: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := trace.Read(strings.NewReader(tt.text), "file", tt.options)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLineEndsAndQuotes(t *testing.T) {
	text := "\ufeff\"TIMESTAMP\",context_tokens,Generated Tokens\r\n\"2024-05-10 00:00:00Z\",\"5\",6.0\r\n2024-05-10T00:00:01+00:00,7,8"
	got, _, err := trace.Read(strings.NewReader(text), "file", trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Session{session(0, 0, lengths(5, 6)), session(1, time.Second, lengths(7, 8))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestPart(t *testing.T) {
	got, report, err := trace.Load("testdata/burstgpt-1.csv", trace.Options{Start: 30 * time.Second, Duration: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]workload.Session{session(0, 10*time.Second, lengths(1087, 230))}, got); diff != "" || report.Rows != 4 {
		t.Errorf("%d rows, sessions (-want +got):\n%s", report.Rows, diff)
	}
}

func TestCompressed(t *testing.T) {
	plain, err := os.ReadFile("testdata/mooncake.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := trace.Load("testdata/mooncake.jsonl", trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(plain)
	_ = w.Close()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"gzip": zipped.Bytes(), "zstd": encoder.EncodeAll(plain, nil)} {
		path := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := trace.Load(path, trace.Options{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := trace.Load(path, trace.Options{}); err == nil {
			t.Errorf("%s: half a file is read without an error", name)
		}
	}
	if _, _, err := trace.Load(filepath.Join(t.TempDir(), "absent"), trace.Options{}); err == nil || !strings.HasPrefix(err.Error(), "reading trace: ") {
		t.Error(err)
	}
}
