package usage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/profiles"
)

// Source is what exports read: a Ledger or a Reader.
type Source interface {
	Sums(ctx context.Context, q Query) ([]Group, error)
	Requests(ctx context.Context, from, to time.Time, each func(*Record) error) error
}

// Handler exports usage over HTTP, for GET. Parameters, all optional:
//
//	by      dimensions such as tenant,alias (the default), or request: one by one
//	from    first day or hour of UTC, like 2026-01-31 or 2026-01-31T15:00Z; the month's first
//	to      the end, which does not count; the end of today
//	format  json (the default) or csv
//
// and any dimension but day and hour, which only counts what has that value. Who
// may ask is for others to check.
func Handler(s Source, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, err := parseExport(r.URL.Query(), now())
		if err != nil {
			openai.WriteError(w, http.StatusBadRequest, openai.NewError("invalid_request_error", err.Error(), "", ""))
			return
		}
		h := w.Header()
		h.Set("Content-Type", e.contentType())
		h.Set("Cache-Control", "no-store")
		if e.requests {
			e.writeRequests(w, r, s)
			return
		}
		groups, err := s.Sums(r.Context(), e.Query)
		if err != nil {
			h.Del("Cache-Control")
			openai.WriteError(w, http.StatusServiceUnavailable, openai.NewError("server_error", err.Error(), "", ""))
			return
		}
		var body bytes.Buffer
		if e.csv {
			err = WriteCSV(&body, e.By, groups)
		} else {
			err = WriteJSON(&body, e.Query, groups)
		}
		if err != nil {
			openai.WriteError(w, http.StatusInternalServerError, openai.NewError("server_error", err.Error(), "", ""))
			return
		}
		_, _ = w.Write(body.Bytes()) // the client may have left
	})
}

// export is what a request asks for.
type export struct {
	Query
	requests bool // one by one
	csv      bool
}

func (e *export) contentType() string {
	if e.csv {
		return "text/csv; charset=utf-8"
	}
	return "application/json"
}

// writeRequests streams requests. When it fails in the middle the connection is
// cut, since nothing else tells the client that the rest is missing.
func (e *export) writeRequests(w http.ResponseWriter, r *http.Request, s Source) {
	began := false
	writer := writerFunc(func(p []byte) (int, error) { began = true; return w.Write(p) })
	each, end := RequestsJSON(writer, e.From, e.To)
	if e.csv {
		each, end = RequestsCSV(writer)
	}
	err := s.Requests(r.Context(), e.From, e.To, func(record *Record) error {
		if !e.matches(record) {
			return nil
		}
		return each(record)
	})
	if err == nil {
		err = end()
	}
	switch {
	case err == nil:
	case began:
		panic(http.ErrAbortHandler)
	default:
		openai.WriteError(w, http.StatusServiceUnavailable, openai.NewError("server_error", err.Error(), "", ""))
	}
}

func (e *export) matches(r *Record) bool { return binOf(r).matches(e.Where) }

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// parseExport reads the parameters. Unknown ones are refused: a filter that is
// spelled wrong must not export everybody.
func parseExport(values url.Values, now time.Time) (e export, err error) {
	now = now.UTC()
	e.Query = Query{
		By:    []Dimension{Tenant, Alias},
		From:  time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC),
		To:    time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC),
		Where: map[Dimension]string{},
	}
	for name, all := range values {
		if len(all) != 1 {
			return e, fmt.Errorf("%s appears %d times", name, len(all))
		}
		if err := e.set(name, all[0]); err != nil {
			return e, err
		}
	}
	if e.requests {
		return e, e.checkSpan()
	}
	return e, e.Validate()
}

func (e *export) set(name, value string) (err error) {
	switch name {
	case "by":
		if e.requests = value == "request"; !e.requests {
			e.By, err = ParseDimensions(value)
		}
	case "from":
		e.From, err = ParseTime(value)
	case "to":
		e.To, err = ParseTime(value)
	case "format":
		if e.csv = value == "csv"; !e.csv && value != "json" {
			err = fmt.Errorf("expected json or csv, got %q", value)
		}
	default:
		return e.restrict(name, value)
	}
	if err != nil && name != "by" {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func (e *export) restrict(name, value string) error {
	if !slices.Contains(Dimensions, Dimension(name)) {
		known := []string{"by", "from", "to", "format"}
		for _, d := range Dimensions[:slices.Index(Dimensions, Day)] {
			known = append(known, string(d))
		}
		return fmt.Errorf("unknown parameter %q%s; known: %s", name, profiles.DidYouMean(name, known), strings.Join(known, ", "))
	}
	e.Where[Dimension(name)] = value
	return nil
}

// ParseTime reads a day, or an instant, of UTC.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04Z07:00", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("expected a day like 2026-01-31, or an hour like 2026-01-31T15:00Z")
}
