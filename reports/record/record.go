package record

import (
	"iter"
	"time"
)

// Outcome is how a request ended: exactly one per request.
type Outcome string

const (
	OK        Outcome = "ok"        // 2xx, output, a terminal signal, no error
	Failed    Outcome = "failed"    // see Failure
	Cancelled Outcome = "cancelled" // by the workload's own rule
	Cut       Outcome = "cut"       // by the end of the run
	Dropped   Outcome = "dropped"   // never sent: the client was at its cap, or too late
)

// Failure is the class of a failed request. Status codes other than 2xx are
// "http_<status>" (see HTTPFailure).
type Failure string

const (
	StreamError       Failure = "stream_error"
	Truncated         Failure = "truncated"
	NoOutput          Failure = "no_output"
	NotSSE            Failure = "not_sse"
	TimeoutFirstToken Failure = "timeout_first_token"
	TimeoutIdle       Failure = "timeout_idle"
	TimeoutTotal      Failure = "timeout_total"
	Connect           Failure = "connect"
	ClientPorts       Failure = "client_ports"
	TLS               Failure = "tls"
	Malformed         Failure = "malformed"
)

// OutOfFiles begins the Detail of a ClientPorts failure when it was not ports
// that the client ran out of, but files.
const OutOfFiles = "the client ran out of open files (ulimit -n)"

// TokensSource says where output_tokens comes from.
type TokensSource string

const (
	FromUsage TokensSource = "usage"     // the server's usage.completion_tokens
	Estimated TokensSource = "estimated" // one encode of the joined text
	FromChunk TokensSource = "chunks"    // number of events with output
)

// Record is one request of a run. Moments are relative to the start of the run;
// what was not measured is absent (the zero Moment or Count).
type Record struct {
	ID          int64
	Tenant      string
	Class       string
	Session     int64
	Turn        int
	PrefixGroup Count  // absent when the prompt shares no prefix
	Model       string // on the wire
	Endpoint    Count  // index in Target.Endpoints; absent when there is one
	RequestID   string // x-request-id that the server answered with

	Scheduled    Moment // when it was due; absent in a closed loop
	Sent         Moment // just before the transport was asked to send
	Wrote        Moment // last byte of the request written
	FirstByte    Moment // first byte of the response
	First        Moment // first event with generated output in any channel
	FirstVisible Moment // first event with content or a tool call
	Last         Moment // last event with generated output
	Finished     Moment // event with a finish_reason
	Closed       Moment // [DONE] or end of stream

	AskedInput   Count // prompt tokens that the workload asked for
	AskedOutput  Count // output tokens that the workload asked for
	Input        Count // prompt tokens by the server's count
	Cached       Count // prompt tokens served from a prefix cache
	Output       Count // output tokens, reasoning included
	TokensSource TokensSource
	ShortOutput  bool // asked for exactly AskedOutput, got fewer
	// UsageImplausible means that the server told counts that can not be, which
	// are absent here.
	UsageImplausible bool

	// Chunks are the events that carried output; nil when none did.
	Chunks Chunks

	Outcome      Outcome
	Failure      Failure // only when Outcome is Failed
	Detail       string  // one line for a person: the server's message, the error
	Attempts     int
	HTTPStatus   int // 0 when no response came
	FinishReason string
}

// Chunks are the arrivals of output events in order.
type Chunks interface {
	// Len is the number of events.
	Len() int
	// All yields the moment of each event since the start of the run, and the
	// number of tokens it carried (absent when unknown).
	All() iter.Seq2[time.Duration, Count]
}

// MeasuredChunks are chunk arrivals as measured, stored compactly. Tokens is
// nil when the number of tokens per event is unknown; otherwise it is as long
// as Times, and a negative entry is unknown.
type MeasuredChunks struct {
	Times  []time.Duration
	Tokens []int32
}

// Len implements Chunks.
func (m *MeasuredChunks) Len() int { return len(m.Times) }

// All implements Chunks.
func (m *MeasuredChunks) All() iter.Seq2[time.Duration, Count] {
	return func(yield func(time.Duration, Count) bool) {
		for i, t := range m.Times {
			var n Count
			if m.Tokens != nil && m.Tokens[i] >= 0 {
				n = Counted(int(m.Tokens[i]))
			}
			if !yield(t, n) {
				return
			}
		}
	}
}
