package usage

import (
	"context"
	"database/sql"
	"time"

	"github.com/llmctl/llmctl/internal/optional"
)

// requestColumn is one column of a request: how it is declared, written and read.
type requestColumn struct {
	name, declared string
	value          func(*Record) any
	scan           func(*Record) any // what database/sql scans into
}

const (
	textType    = "TEXT NOT NULL"
	numberType  = "BIGINT NOT NULL"
	unknownType = "BIGINT" // NULL is unknown
)

var requestColumns = []requestColumn{
	{"id", "TEXT NOT NULL PRIMARY KEY", func(r *Record) any { return r.id }, func(r *Record) any { return &r.id }},
	textColumn("request_id", func(r *Record) *string { return &r.RequestID }),
	{"at_us", numberType, func(r *Record) any { return r.At.UnixMicro() }, func(r *Record) any { return scanner(func(v int64) { r.At = time.UnixMicro(v).UTC() }) }},
	textColumn("tenant", func(r *Record) *string { return &r.Tenant }),
	textColumn("key_name", func(r *Record) *string { return &r.Key }),
	textColumn("alias", func(r *Record) *string { return &r.Alias }),
	textColumn("provider", func(r *Record) *string { return &r.Provider }),
	textColumn("model", func(r *Record) *string { return &r.Model }),
	textColumn("arm", func(r *Record) *string { return &r.Arm }),
	textColumn("class", func(r *Record) *string { return &r.Class }),
	textColumn("outcome", func(r *Record) *string { return &r.Outcome }),
	flagColumn("ok", func(r *Record) *bool { return &r.OK }),
	{"status", numberType, func(r *Record) any { return r.Status }, func(r *Record) any { return &r.Status }},
	{"input_tokens", numberType, func(r *Record) any { return r.Tokens.Input }, func(r *Record) any { return &r.Tokens.Input }},
	countColumn("cached_tokens", func(r *Record) *optional.Count { return &r.Tokens.Cached }),
	{"output_tokens", numberType, func(r *Record) any { return r.Tokens.Output }, func(r *Record) any { return &r.Tokens.Output }},
	countColumn("reasoning_tokens", func(r *Record) *optional.Count { return &r.Tokens.Reasoning }),
	flagColumn("estimated", func(r *Record) *bool { return &r.Tokens.Estimated }),
	amountColumn("input_cost_nano_usd", func(r *Record) *Amount { return &r.Cost.Input }),
	amountColumn("output_cost_nano_usd", func(r *Record) *Amount { return &r.Cost.Output }),
	textColumn("saved_by", func(r *Record) *string { return (*string)(&r.Saved.By) }),
	{"saved_input_tokens", numberType, func(r *Record) any { return r.Saved.Input }, func(r *Record) any { return &r.Saved.Input }},
	{"saved_output_tokens", numberType, func(r *Record) any { return r.Saved.Output }, func(r *Record) any { return &r.Saved.Output }},
	amountColumn("saved_nano_usd", func(r *Record) *Amount { return &r.Saved.Cost }),
	timeColumn("ttft_us", func(r *Record) *optional.Duration { return &r.TTFT }),
	timeColumn("tpot_us", func(r *Record) *optional.Duration { return &r.TPOT }),
	timeColumn("e2e_us", func(r *Record) *optional.Duration { return &r.E2E }),
	timeColumn("queue_us", func(r *Record) *optional.Duration { return &r.Queue }),
	timeColumn("engine_queue_us", func(r *Record) *optional.Duration { return &r.EngineQueue }),
	{"attempts", numberType, func(r *Record) any { return r.Attempts }, func(r *Record) any { return &r.Attempts }},
	flagColumn("fallback", func(r *Record) *bool { return &r.Fallback }),
}

// scanner takes a number that is not NULL.
type scanner func(int64)

// Scan implements sql.Scanner.
func (s scanner) Scan(v any) error {
	var n sql.NullInt64
	if err := n.Scan(v); err != nil {
		return err
	}
	if n.Valid {
		s(n.Int64)
	}
	return nil
}

// null is a number, or NULL when it is unknown.
func null(v int64, known bool) any {
	if !known {
		return nil
	}
	return v
}

func textColumn(name string, of func(*Record) *string) requestColumn {
	return requestColumn{name, textType, func(r *Record) any { return clean(*of(r)) }, func(r *Record) any { return of(r) }}
}

func flagColumn(name string, of func(*Record) *bool) requestColumn {
	return requestColumn{
		name, numberType,
		func(r *Record) any { return one(*of(r)) },
		func(r *Record) any { return scanner(func(v int64) { *of(r) = v != 0 }) },
	}
}

func countColumn(name string, of func(*Record) *optional.Count) requestColumn {
	return requestColumn{
		name, unknownType,
		func(r *Record) any { n, ok := of(r).Value(); return null(int64(n), ok) },
		func(r *Record) any { return scanner(func(v int64) { *of(r) = optional.Counted(int(v)) }) },
	}
}

func amountColumn(name string, of func(*Record) *Amount) requestColumn {
	return requestColumn{
		name, unknownType,
		func(r *Record) any { n, ok := of(r).Value(); return null(int64(n), ok) },
		func(r *Record) any { return scanner(func(v int64) { *of(r) = Known(NanoUSD(v)) }) },
	}
}

func timeColumn(name string, of func(*Record) *optional.Duration) requestColumn {
	return requestColumn{
		name, unknownType,
		func(r *Record) any { d, ok := of(r).Value(); return null(micros(d), ok) },
		func(r *Record) any {
			return scanner(func(v int64) { *of(r) = optional.Measured(time.Duration(v) * time.Microsecond) })
		},
	}
}

func (d *database) requests(ctx context.Context, from, to time.Time, each func(*Record) error) (err error) {
	names := ""
	for i, c := range requestColumns {
		if i > 0 {
			names += ", "
		}
		names += c.name
	}
	rows, err := d.db.QueryContext(ctx, "SELECT "+names+" FROM llmctl_requests WHERE at_us >= "+d.placeholder(1)+
		" AND at_us < "+d.placeholder(2)+" ORDER BY at_us, id", from.UnixMicro(), to.UnixMicro())
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = rows.Close() }() // Err tells
	targets := make([]any, len(requestColumns))
	for rows.Next() {
		var r Record
		for i, c := range requestColumns {
			targets[i] = c.scan(&r)
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := each(&r); err != nil {
			return err
		}
	}
	return d.explain(rows.Err())
}
