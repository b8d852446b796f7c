package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// ErrCut is the cause of the end of a request that the end of the run cut off.
var ErrCut = errors.New("cut by the end of the run")

// errLeft is the cause of the end of a request whose user left.
var errLeft = errors.New("the user left, as the workload has it")

// errOver is the cause of the end of a connection whose answer was complete long
// before its HTTP message.
var errOver = errors.New("the answer was over")

// fail writes a failure into the record.
func fail(r *record.Record, class record.Failure, detail string) {
	r.Outcome, r.Failure, r.Detail = record.Failed, class, OneLine(detail)
}

// failTransport writes the failure of a request that got no response. A client
// out of files looks like one out of ports; the detail tells them apart.
func failTransport(r *record.Record, err error) {
	detail := err.Error()
	switch {
	case outOfFiles(err):
		detail = record.OutOfFiles + ": " + detail
	case strings.Contains(detail, `"\x00\x00`): // the start of a frame (RFC 9113, 4.1), as both transports quote it
		detail = "the server answers in frames of HTTP/2 to a request of HTTP/1.1: " + detail
	}
	fail(r, transportFailure(err), detail)
}

// outOfFiles reports whether the process or the machine has no file descriptor
// left. The resolver keeps of its errors the text alone.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || strings.Contains(err.Error(), syscall.EMFILE.Error())
}

// giveUp writes the outcome of a request that this client ended itself; ok is
// false when it did not.
func giveUp(ctx context.Context, r *record.Record, now time.Duration) (ok bool) {
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), errOver) {
		return false
	}
	cause := context.Cause(ctx)
	if t := (*timeout)(nil); errors.As(cause, &t) {
		fail(r, t.class, t.Error())
		return true
	}
	if errors.Is(cause, errLeft) {
		r.Outcome, r.Detail, r.Closed = record.Cancelled, errLeft.Error(), record.At(now)
		return true
	}
	// The end that the cut put to the stream is its end: how long the request
	// had lasted decides whether it had already broken its objective.
	r.Outcome, r.Detail, r.Closed = record.Cut, ErrCut.Error(), record.At(now)
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
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENOBUFS), outOfFiles(err):
		return record.ClientPorts
	case errors.As(err, &header), errors.As(err, &alert), errors.As(err, &invalid), errors.As(err, &unknown),
		errors.As(err, &name), errors.Is(err, http.ErrSchemeMismatch), errors.Is(err, errNoHTTP2):
		return record.TLS
	case noHTTP(err):
		return record.Malformed
	case errors.Is(err, io.ErrUnexpectedEOF): // half a head
		return record.Truncated
	default:
		return record.Connect
	}
}

// bodyFailure classifies an error in the middle of an answer.
func bodyFailure(err error) record.Failure {
	if noHTTP(err) {
		return record.Malformed
	}
	return record.Truncated
}

// noHTTP reports whether an answer broke the grammar or the limits of HTTP/1,
// for which net/http has no types: the status line, the head, its size, the
// chunks (net/http/internal/chunked.go).
func noHTTP(err error) bool {
	text := err.Error()
	for _, part := range []string{"malformed", "response headers exceeded", "chunk", "header line too long"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// maxDetail is the length of an explanation in a record, in bytes.
const maxDetail = 300

// OneLine makes text from elsewhere safe to print in one line that is not long.
func OneLine(s string) string {
	s = record.Printable(strings.Join(strings.Fields(s), " "))
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "") + "…"
	}
	return s
}
