package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// The pauses before the second and further attempts: they double from the first
// to the longest, unless the server names one, of which no more than a minute
// is believed.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 8 * time.Second
	patience     = time.Minute
)

// later waits until the request may be sent again, when its failure is of the
// kind that passes. again is false when it is not, or when the wait was ended;
// the record then says by what.
func (x *exchange) later(ctx context.Context, try int) (again bool) {
	r := x.record
	if r.Outcome != record.Failed || !passing(r) {
		return false
	}
	pause := min(firstPause<<min(try, 10), longestPause)
	if x.reply != nil {
		if named, ok := retryAfter(x.reply.retryAfter); ok {
			pause = min(named, patience)
		}
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		r.Outcome, r.Failure, r.Detail, r.HTTPStatus, r.RequestID = "", "", "", 0, ""
		return true
	case <-ctx.Done():
		r.Failure, r.Detail = "", ""
		giveUp(ctx, r, x.now())
		return false
	}
}

// retryAfter is the pause that a server names, in seconds or by the date at which
// it ends (RFC 9110, 10.2.3).
func retryAfter(value string) (pause time.Duration, ok bool) {
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 3600)) * time.Second, true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(time.Until(date), 0), true
	}
	return 0, false
}

// passing reports whether a failure may pass: nobody answered, or the status
// says so (RFC 9110, 15.5.9 and 15.6; RFC 6585, 4).
func passing(r *record.Record) bool {
	switch r.HTTPStatus {
	case 408, 429, 500, 502, 503, 504:
		return true
	case 0:
		return r.Failure == record.Connect
	}
	return false
}
