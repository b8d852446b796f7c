package main

import (
	"context"
	"io"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"
)

// jsonLog writes what slog.JSONHandler writes, byte for byte, in less than half
// of its time where a line holds nothing but names and numbers, as that of a request does:
// JSONHandler hands each fraction to an encoder of its own. Whatever else a line
// holds, it writes itself.
type jsonLog struct {
	slog.Handler // slog's, for the rest
	to           io.Writer
}

func newJSONLog(to io.Writer) slog.Handler {
	return &jsonLog{Handler: slog.NewJSONHandler(to, nil), to: to}
}

var logLines = sync.Pool{New: func() any { return new([]byte) }}

// Handle implements slog.Handler. to must take lines from several goroutines.
func (h *jsonLog) Handle(ctx context.Context, r slog.Record) error {
	line := logLines.Get().(*[]byte)
	defer logLines.Put(line)
	b, plain := appendRecord((*line)[:0], &r)
	if *line = b; !plain {
		return h.Handler.Handle(ctx, r)
	}
	_, err := h.to.Write(b)
	return err
}

// appendRecord writes a record as a line; plain is false for one that has something
// other than plain texts and numbers.
func appendRecord(b []byte, r *slog.Record) (_ []byte, plain bool) {
	if r.Time.IsZero() || r.Time.Year() < 0 || r.Time.Year() > 9999 {
		return b, false
	}
	b = append(b, `{"time":"`...)
	b = r.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"`...)
	b = append(b, r.Level.String()...)
	b = append(b, `","msg":`...)
	b, plain = appendPlain(b, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "" || !plain {
			plain = false
			return false
		}
		b = append(b, ',')
		if b, plain = appendPlain(b, a.Key); plain {
			b = append(b, ':')
			b, plain = appendValue(b, a.Value)
		}
		return plain
	})
	return append(b, "}\n"...), plain
}

func appendValue(b []byte, v slog.Value) ([]byte, bool) {
	switch v.Kind() {
	case slog.KindString:
		return appendPlain(b, v.String())
	case slog.KindInt64:
		return strconv.AppendInt(b, v.Int64(), 10), true
	case slog.KindBool:
		return strconv.AppendBool(b, v.Bool()), true
	case slog.KindFloat64:
		// Beyond these bounds encoding/json writes an exponent.
		if f := math.Abs(v.Float64()); f == 0 || f >= 1e-6 && f < 1e21 {
			return strconv.AppendFloat(b, v.Float64(), 'f', -1, 64), true
		}
	}
	return b, false
}

// appendPlain writes a text of which no byte needs an escape.
func appendPlain(b []byte, text string) ([]byte, bool) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return b, false
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"'), true
}
