package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever a line holds, it is the one that slog's own handler writes.
func TestLinesOfTheLogAreThoseOfSlog(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[a-z0-9_ :./-]{0,20}`), rapid.String(), rapid.SampledFrom([]string{"", "a\"b", "a\\b", "é", "<a>&", "\x7f", "\n", "\xff"}))
	values := rapid.Custom(func(t *rapid.T) slog.Value {
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0:
			return slog.Int64Value(rapid.Int64().Draw(t, "n"))
		case 1:
			return slog.Float64Value(rapid.Float64().Draw(t, "f"))
		case 2:
			return slog.Float64Value(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 9e-7, 1e21, 9.99e20, -1.5, math.Inf(1), math.NaN(), 0.051583453}).Draw(t, "f"))
		case 3:
			return slog.BoolValue(rapid.Bool().Draw(t, "b"))
		case 4:
			return slog.DurationValue(time.Duration(rapid.Int64().Draw(t, "d")))
		case 5:
			return slog.AnyValue(errors.New(texts.Draw(t, "error")))
		case 6:
			return slog.GroupValue(slog.Int("n", 1))
		}
		return slog.StringValue(texts.Draw(t, "text"))
	})
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-1e11, 4e11).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()
		r := slog.NewRecord(at, rapid.SampledFrom([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, 3}).Draw(t, "level"), texts.Draw(t, "message"), 0)
		for range rapid.IntRange(0, 8).Draw(t, "attributes") {
			r.AddAttrs(slog.Attr{Key: texts.Draw(t, "key"), Value: values.Draw(t, "value")})
		}
		var want, got bytes.Buffer
		if err := slog.NewJSONHandler(&want, nil).Handle(t.Context(), r.Clone()); err != nil {
			t.Fatal(err)
		}
		if err := newJSONLog(&got).Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s\nwant %s", got.String(), want.String())
		}
	})
}

// A logger with attributes of its own writes them, too.
func TestLogWithAttributes(t *testing.T) {
	var b bytes.Buffer
	slog.New(newJSONLog(&b)).With("part", "x").WithGroup("g").Info("m", "n", 1)
	if got := b.String(); !bytes.Contains(b.Bytes(), []byte(`"msg":"m","part":"x","g":{"n":1}}`)) {
		t.Error(got)
	}
}

// BenchmarkLogLine is a line of a request.
func BenchmarkLogLine(b *testing.B) {
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	for _, name := range []string{"request_id", "tenant", "key", "alias", "class", "outcome", "deployment", "arm", "finish_reason", "endpoint", "tokens_source", "route"} {
		r.AddAttrs(slog.String(name, "interactive"))
	}
	for _, name := range []string{"status", "attempts", "input_tokens", "output_tokens"} {
		r.AddAttrs(slog.Int64(name, 200))
	}
	for _, name := range []string{"usd", "ttft_s", "tpot_s", "e2e_s", "queue_s"} {
		r.AddAttrs(slog.Float64(name, 0.051583453))
	}
	for name, h := range map[string]slog.Handler{"own": newJSONLog(io.Discard), "slog": slog.NewJSONHandler(io.Discard, nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Handle(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
