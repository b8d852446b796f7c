package conform_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/conform"
	"github.com/llmctl/llmctl/loadgen/mock"
)

// streamFaults says which cases fail for each fault of the mock's streams: those
// whose rule it breaks, and no other.
var streamFaults = map[string][]string{
	"split":         {"framing/whole-events"},
	"bytes":         {"framing/whole-events"},
	"together":      {}, // legal, and a case of buffering: see TestBuffering
	"crlf":          {"framing/line-ends"},
	"cr":            {"framing/line-ends"},
	"no_space":      {"framing/space"},
	"done_no_space": {"framing/space"},
	"done_spaces":   {},
	"comments":      {},
	"event_lines":   {},
	"fields":        {},
	"multiline":     {"framing/one-line"},
	"bom":           {"framing/no-bom"},
	"no_blank_line": {"framing/blank-line"},

	// The text is another one than that of the whole answer.
	"line_separators":   {"stream/same-as-whole"},
	"utf8_cut":          {"stream/same-as-whole", "framing/whole-events", "framing/whole-characters"},
	"reasoning_content": {"stream/same-as-whole"},
	"reasoning":         {"stream/same-as-whole"},
	"reasoning_both":    {"stream/same-as-whole"},
	"reasoning_only":    {"stream/same-as-whole"},
	"tool_call":         {"stream/same-as-whole"},
	"huge_line":         {"stream/same-as-whole"},
	"huge_line_20mb":    {"stream/same-as-whole"},

	// Chunks without an id.
	"role_first":    {"stream/object"},
	"role_null":     {"stream/object"},
	"content_null":  {"stream/object", "stream/role"},
	"delta_null":    {"stream/object", "stream/role"},
	"choices_null":  {"stream/object"},
	"choices_empty": {"stream/object"},
	"error_null":    {"stream/object"},

	"tool_calls_null":   {},
	"usage_in_finish":   {"usage/stream"},
	"no_usage":          {"usage/stream"},
	"usage_implausible": {"stream/object", "usage/stream-counts", "usage/same", "usage/not-asked"},
	"usage_negative":    {"stream/object", "usage/stream-counts", "usage/same", "usage/not-asked"},

	"error_object":       {"stream/no-error"},
	"error_event":        {"stream/no-error"},
	"not_json":           {"stream/json", "stream/finish-reason", "stream/done"},
	"eof":                {"stream/finish-reason", "stream/done"},
	"eof_in_event":       {"stream/json", "stream/finish-reason", "stream/done", "framing/blank-line"},
	"abort":              {"stream/no-error"},
	"reset":              {"stream/no-error"},
	"abort_after_finish": {"stream/no-error"},
	"no_done":            {"stream/done"},
	"no_finish":          {"stream/finish-reason"},
	"hang_middle":        {"stream/no-error"},
	"hang_after_finish":  {"stream/ends"},
	"endless":            {"stream/no-error"},
	"chunk_size_bad":     {"stream/no-error"},

	"text_plain":             {"stream/content-type", "framing/cache-control"}, // the mock says no-cache of event streams alone
	"content_length":         {"stream/no-content-length"},
	"slow_header":            {},
	"informational":          {},
	"chunk_extensions":       {},
	"trailers":               {},
	"header_case":            {},
	"http_1_0":               {},
	"idle_close":             {},
	"refuses_stream_options": {"usage/stream"},
	"refuses_ignore_eos":     {},
}

// noStream are the faults that leave no stream to look at: one case says so, and
// the others are skipped.
var noStream = []string{
	"usage_only", "empty", "error_first", "reset_first", "hang_first", "hang_header", "pings", "status_201", "html", "json",
	"http_401", "http_404", "http_429", "http_500", "http_502", "http_503", "http_503_twice", "redirect", "refuses_max_tokens",
}

// A fault of the mock makes exactly the cases fail whose rules it breaks.
func TestFaultsFailTheirCases(t *testing.T) {
	// What even the faultless mock does not have.
	const always = "framing/accel-buffering"
	for i := range mock.Faults {
		f := &mock.Faults[i]
		want, known := streamFaults[f.Name]
		if slices.Contains(noStream, f.Name) {
			want, known = []string{"stream/answered"}, true
		}
		if !known {
			t.Errorf("fault %s of the mock: which cases does it break?", f.Name)
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			faulty := faultless()
			faulty.Faults = []mock.Share{{Fault: f, Part: 1}}
			r := check(t, streamsTo(faulty, faultless()), conform.Options{
				Pick: []string{"whole", "stream", "framing", "usage"}, CaseTimeout: patience(f.Name),
			})
			got := slices.DeleteFunc(failures(r), func(id string) bool { return id == always })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s", diff)
			}
		})
	}
}

// patience is how long a case may take: until it is over, but where it never is.
func patience(fault string) time.Duration {
	if strings.HasPrefix(fault, "hang") || fault == "pings" || fault == "endless" {
		return 500 * time.Millisecond
	}
	return time.Minute
}

// Where no stream comes, every case that needs one says why it was skipped.
func TestCasesWithoutAStreamAreSkippedWithAReason(t *testing.T) {
	f, err := mock.FindFault("http_500")
	if err != nil {
		t.Fatal(err)
	}
	faulty := faultless()
	faulty.Faults = []mock.Share{{Fault: f, Part: 1}}
	r := check(t, streamsTo(faulty, faultless()), conform.Options{Pick: []string{"stream", "framing"}})
	for _, c := range r.Results[1:] {
		if c.Verdict != conform.Skip || c.Reason != "no stream to look at (stream/answered)" {
			t.Errorf("%s: %s, seen %q, reason %q", c.ID, c.Verdict, c.Seen, c.Reason)
		}
	}
}
