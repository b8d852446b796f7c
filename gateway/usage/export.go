package usage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// Source is what exports read: a Ledger or a Reader.
type Source interface {
	Sums(ctx context.Context, q Query) ([]Group, error)
	Requests(ctx context.Context, from, to time.Time, each func(*Record) error) error
}

// Export is usage that somebody asks for.
type Export struct {
	Query
	Requests bool // one by one, instead of sums
	CSV      bool // instead of JSON
}

func (e *Export) contentType() string {
	if e.CSV {
		return "text/csv; charset=utf-8"
	}
	return "application/json"
}

// Write writes the export. Of sums nothing is written before all are known;
// requests are written as they are read.
func (e *Export) Write(ctx context.Context, w io.Writer, s Source) error {
	if e.Requests {
		return e.writeRequests(ctx, w, s)
	}
	groups, err := s.Sums(ctx, e.Query)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if e.CSV {
		err = WriteCSV(&text, e.By, groups)
	} else {
		err = WriteJSON(&text, e.Query, groups)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text.Bytes())
	return err
}

func (e *Export) writeRequests(ctx context.Context, w io.Writer, s Source) error {
	each, end := RequestsJSON(w, e.From, e.To)
	if e.CSV {
		each, end = RequestsCSV(w)
	}
	err := s.Requests(ctx, e.From, e.To, func(r *Record) error {
		if !binOf(r).matches(e.Where) {
			return nil
		}
		return each(r)
	})
	if err != nil {
		return err
	}
	return end()
}

// ParseExport reads parameters, all optional:
//
//	by      dimensions such as tenant,alias (the default), or request: one by one
//	from    first day or hour of UTC, like 2026-01-31 or 2026-01-31T15:00Z; the month's first
//	to      the end, which does not count; the end of today
//	format  json (the default) or csv
//
// and any dimension but day and hour, which only counts what has that value.
// Unknown ones are refused: a filter that is spelled wrong must not export
// everybody.
func ParseExport(values url.Values, now time.Time) (e Export, err error) {
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
	if e.Requests {
		return e, e.checkSpan()
	}
	return e, e.Validate()
}

func (e *Export) set(name, value string) (err error) {
	switch name {
	case "by":
		if e.Requests = value == "request"; !e.Requests {
			e.By, err = ParseDimensions(value)
		}
	case "from":
		e.From, err = ParseTime(value)
	case "to":
		e.To, err = ParseTime(value)
	case "format":
		if e.CSV = value == "csv"; !e.CSV && value != "json" {
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

func (e *Export) restrict(name, value string) error {
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
