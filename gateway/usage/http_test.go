package usage

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func get(t *testing.T, s Source, query string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/admin/usage?"+query, nil)
	Handler(s, func() time.Time { return noon }).ServeHTTP(w, r)
	return w
}

func exported(t *testing.T) *Ledger {
	t.Helper()
	l, _ := openTest(t, Options{})
	l.Append(sample(func(r *Record) { r.Saved = Saved{By: Cancellation, Output: 80, Cost: Known(160_000)} }))
	l.Append(sample(func(r *Record) { r.At = noon.AddDate(0, -1, 0) }))
	l.Append(sample(func(r *Record) { r.Tenant, r.Cost = "=HYPERLINK(\"x\")", Cost{} }))
	return l
}

func TestExportJSON(t *testing.T) {
	w := get(t, exported(t), "by=tenant,alias&tenant=search")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, header %v", w.Code, w.Header())
	}
	want := `{
  "schema": "llmctl/usage/v1",
  "from": "2026-03-01T00:00:00Z",
  "to": "2026-03-15T00:00:00Z",
  "by": [
    "tenant",
    "alias"
  ],
  "groups": [
    {
      "tenant": "search",
      "alias": "small",
      "requests": 1,
      "ok_requests": 1,
      "retries": 0,
      "fallbacks": 0,
      "estimated_requests": 0,
      "input_tokens": 100,
      "cached_input_tokens": 40,
      "output_tokens": 20,
      "reasoning_tokens": 5,
      "usd": 0.00008,
      "usd_input": 0.00006,
      "usd_output": 0.00002,
      "unpriced_requests": 0,
      "usd_per_1k_input_tokens": 0.0006,
      "usd_per_1m_input_tokens": 0.6,
      "usd_per_1k_output_tokens": 0.001,
      "usd_per_1m_output_tokens": 1,
      "usd_per_1k_total_tokens": 0.0006666666666666666,
      "usd_per_1m_total_tokens": 0.6666666666666666,
      "saved_by_cancellation_requests": 1,
      "saved_by_cancellation_output_tokens": 80,
      "saved_by_cancellation_usd": 0.00016,
      "mean_ttft_s": 0.05,
      "mean_tpot_s": 0.005,
      "mean_e2e_s": 0.15,
      "mean_queue_s": 0.002
    }
  ]
}
`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Every column has a name with its unit, absent is empty, and no cell runs as a
// formula.
func TestExportCSV(t *testing.T) {
	w := get(t, exported(t), "format=csv&by=tenant")
	rows, err := csv.NewReader(w.Body).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, test := range []struct {
		row          int
		column, want string
	}{
		{1, "tenant", `'=HYPERLINK("x")`}, {1, "usd", ""}, {1, "unpriced_requests", "1"}, {1, "usd_per_1m_input_tokens", ""},
		{1, "saved_by_exact_cache_usd", ""}, {1, "mean_engine_queue_s", ""},
		{2, "tenant", "search"}, {2, "usd", "0.00008"}, {2, "usd_per_1k_output_tokens", "0.001"}, {2, "saved_by_cancellation_output_tokens", "80"},
		{2, "mean_tpot_s", "0.005"},
	} {
		if got := rows[test.row][column[test.column]]; got != test.want {
			t.Errorf("%s of row %d is %q, want %q", test.column, test.row, got, test.want)
		}
	}
}

func TestCellsAreNoFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "search": "search", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\t=1": "'\t=1", "\r=1": "'\r=1", "a=1": "a=1", "é": "é",
	} {
		if got := cell(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestExportRequests(t *testing.T) {
	l := exported(t)
	w := get(t, l, "by=request&tenant=search&from=2026-02-01")
	var document struct {
		Schema   string
		Requests []map[string]any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	if document.Schema != RequestsSchema || len(document.Requests) != 2 {
		t.Fatalf("%s", w.Body)
	}
	want := map[string]any{
		"time": "2026-03-14T12:00:00Z", "request_id": "req-1", "tenant": "search", "key": "key-1", "alias": "small", "provider": "cluster", "model": "real-model",
		"arm": "stable", "class": "interactive", "outcome": "ok", "status": 200.0, "input_tokens": 100.0, "cached_input_tokens": 40.0, "output_tokens": 20.0,
		"reasoning_tokens": 5.0, "tokens_source": "usage", "usd": 0.00008, "saved_by": "cancellation", "saved_output_tokens": 80.0, "saved_usd": 0.00016,
		"ttft_s": 0.05, "tpot_s": 0.005, "e2e_s": 0.15, "queue_s": 0.002, "attempts": 1.0, "fallback": false,
	}
	if diff := cmp.Diff(want, document.Requests[1]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if w := get(t, l, "by=request&tenant=nobody"); !json.Valid(w.Body.Bytes()) || !strings.HasSuffix(w.Body.String(), "[\n]}\n") {
		t.Errorf("none: %s", w.Body)
	}
	rows, err := csv.NewReader(get(t, l, "by=request&format=csv").Body).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][0] != "time" || rows[1][0] != "2026-03-14T12:00:00Z" {
		t.Errorf("csv %v, error %v", rows, err)
	}
}

func TestMistakesInAQuestionAreToldClearly(t *testing.T) {
	l, _ := openTest(t, Options{})
	for query, want := range map[string]string{
		"by=tennant":                    `did you mean "tenant"?`,
		"by=":                           `unknown "", known: tenant, key`,
		"by=tenant,tenant":              "twice",
		"from=yesterday":                "from: expected a day like",
		"from=2026-03-14&to=2026-03-14": "is not before",
		"from=2026-03-14T12:30Z":        "by the hour",
		"format=xml":                    `expected json or csv, got "xml"`,
		"tenat=search":                  `did you mean "tenant"?`,
		"day=2026-03-14":                "from and to",
		"tenant=a&tenant=b":             "appears 2 times",
	} {
		w := get(t, l, query)
		if w.Code != 400 || !strings.Contains(w.Body.String(), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: status %d, %s; want %s", query, w.Code, w.Body, want)
		}
	}
}

func TestExportOfAStoreThatFails(t *testing.T) {
	f := &fakeStore{err: errors.New("gone")}
	for _, query := range []string{"", "by=request"} {
		if w := get(t, &Reader{f}, query); w.Code != 503 || !strings.Contains(w.Body.String(), "gone") {
			t.Errorf("%q: status %d, %s", query, w.Code, w.Body)
		}
	}
}

// breaking is a store that fails after one request.
type breaking struct{ fakeStore }

func (*breaking) requests(_ context.Context, _, _ time.Time, each func(*Record) error) error {
	return errors.Join(each(sample()), errors.New("gone"))
}

// An export that breaks off does not look whole: the connection ends with it.
func TestExportThatBreaksOffIsCut(t *testing.T) {
	server := httptest.NewServer(Handler(&Reader{&breaking{}}, func() time.Time { return noon }))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"?by=request", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err == nil {
		t.Error("the client was not told that the rest is missing")
	}
	server.Client().CloseIdleConnections()
}

func TestSpendingIsThatOfTheDayAndTheMonth(t *testing.T) {
	l, _ := openTest(t, Options{})
	for _, at := range []time.Time{noon, noon.AddDate(0, 0, -1), noon.AddDate(0, 0, -20), noon.AddDate(0, 1, 0)} {
		l.Append(sample(func(r *Record) { r.At = at }))
	}
	l.Append(sample(func(r *Record) { r.Key = "key-2" }))
	l.Append(sample(func(r *Record) { r.Tenant, r.Cost = "unpriced", Cost{} }))
	l.Append(sample(func(r *Record) { r.Tenant, r.Cost.Output = "half", Amount{} }))
	got, err := l.Spending(t.Context(), noon.In(time.FixedZone("", -14*3600)))
	if err != nil {
		t.Fatal(err)
	}
	want := Spending{
		Tenants: map[string]Spent{"search": {160_000, 240_000}, "unpriced": {}, "half": {60_000, 60_000}},
		Keys: map[KeyName]Spent{
			{"search", "key-1"}: {80_000, 160_000}, {"search", "key-2"}: {80_000, 80_000},
			{"unpriced", "key-1"}: {}, {"half", "key-1"}: {60_000, 60_000},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Whatever is asked, the answer is a query that makes sense or one line that says
// what does not.
func FuzzParseExport(f *testing.F) {
	for _, seed := range []string{"", "by=tenant,alias&from=2026-03-14&to=2026-03-15T01:00Z&format=csv", "by=request&tenant=a", "from=0001-01-01", "by=,&x=y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		e, err := ParseExport(values, noon)
		switch {
		case err != nil && strings.ContainsAny(err.Error(), "\n\r"):
			t.Errorf("error on several lines: %q", err)
		case err == nil && (len(e.By) == 0 || !e.From.Before(e.To)):
			t.Errorf("%+v", e)
		}
	})
}

// A request without tokens costs nothing whatever its price is, and says nothing of what
// others cost whose price is unknown: their sum is left out, not 0.
func TestAnUnknownCostIsNeverZero(t *testing.T) {
	unpriced := func(r *Record) { r.Cost = Cost{} }
	free := func(r *Record) { r.Tokens, r.Cost = Tokens{}, Cost{Input: Known(0), Output: Known(0)} }
	for _, test := range []struct {
		name    string
		records []func(*Record)
		want    any
	}{
		{"no price", []func(*Record){unpriced}, nil},
		{"no price, and one that failed", []func(*Record){unpriced, free}, nil},
		{"all failed", []func(*Record){free}, 0.0},
		{"some have a price", []func(*Record){unpriced, func(*Record) {}}, 0.00008},
		{"a price of nothing", []func(*Record){unpriced, func(r *Record) { r.Cost = Cost{Input: Known(0), Output: Known(0)} }}, 0.0},
	} {
		l, _ := openTest(t, Options{})
		for _, edit := range test.records {
			l.Append(sample(edit))
		}
		var document struct{ Groups []map[string]any }
		if err := json.Unmarshal(get(t, l, "").Body.Bytes(), &document); err != nil || len(document.Groups) != 1 {
			t.Fatalf("%v, %v", document, err)
		}
		if got := document.Groups[0]["usd"]; got != test.want {
			t.Errorf("%s: usd %v, want %v", test.name, got, test.want)
		}
	}
}
