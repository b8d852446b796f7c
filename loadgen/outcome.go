package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/llmctl/llmctl/reports/record"
)

// errCut is the cause of the end of a request that the end of the run cut off.
var errCut = errors.New("cut by the end of the run")

// fail writes a failure into the record.
func fail(r *record.Record, class record.Failure, detail string) {
	r.Outcome, r.Failure, r.Detail = record.Failed, class, oneLine(detail)
}

// giveUp writes the outcome of a request that this client ended itself; ok is
// false when it did not.
func giveUp(ctx context.Context, r *record.Record, now time.Duration) (ok bool) {
	if ctx.Err() == nil {
		return false
	}
	cause := context.Cause(ctx)
	if t := (*timeout)(nil); errors.As(cause, &t) {
		fail(r, t.class, t.Error())
		return true
	}
	// The end that the cut put to the stream is its end: how long the request
	// had lasted decides whether it had already broken its objective.
	r.Outcome, r.Detail, r.Closed = record.Cut, errCut.Error(), record.At(now)
	return true
}

// transportFailure classifies an error that came instead of a response.
func transportFailure(err error) record.Failure {
	var (
		header  tls.RecordHeaderError
		alert   tls.AlertError
		invalid *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
	)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE),
		errors.Is(err, syscall.ENOBUFS):
		return record.ClientPorts
	case errors.As(err, &header), errors.As(err, &alert), errors.As(err, &invalid), errors.As(err, &unknown),
		errors.As(err, &name), errors.Is(err, http.ErrSchemeMismatch):
		return record.TLS
	case strings.Contains(err.Error(), "malformed"): // net/http has no type for a broken status line or header
		return record.Malformed
	default:
		return record.Connect
	}
}

// bodyFailure classifies an error in the middle of an answer. net/http has no
// type for broken chunked encoding.
func bodyFailure(err error) record.Failure {
	if text := err.Error(); strings.Contains(text, "malformed") || strings.Contains(text, "invalid byte in chunk") {
		return record.Malformed
	}
	return record.Truncated
}

// maxDetail is the length of an explanation in a record, in bytes.
const maxDetail = 300

// oneLine makes text from elsewhere safe to print in one line.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "") + "…"
	}
	return s
}
