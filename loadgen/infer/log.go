package infer

import (
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/loadgen/workload/trace"
)

// Log reads requests from a log of one JSON object a line: that of llmctl's
// gateway, the records of a run, the answers of an API with their usage objects,
// or any other whose fields have common names.
type Log struct {
	in     io.Reader
	report trace.Report
	err    error
}

// NewLog returns the log in r; its name is for messages.
func NewLog(r io.Reader, name string) *Log {
	return &Log{in: r, report: trace.Report{File: name, Format: "log"}}
}

// Report says what was read and what was skipped.
func (l *Log) Report() *trace.Report { return &l.report }

// Err is the error that ended the log, nil when it was read whole.
func (l *Log) Err() error { return l.err }

// All reads the log from where it stands.
//
// A request without a count of tokens is left out, unless the server was at its
// limit or broken, when it is part of the rate and of nothing else.
func (l *Log) All() iter.Seq[Request] {
	return func(yield func(Request) bool) {
		stopped := false
		l.err = trace.ReadLines(l.in, &l.report, func(line []byte) (broken, leftOut string) {
			if stopped {
				return "", "not asked for"
			}
			var row logRow
			row.read(gjson.ParseBytes(line), 0)
			request, broken, leftOut := row.request()
			if broken == "" && leftOut == "" {
				stopped = !yield(request)
			}
			return broken, leftOut
		})
	}
}

// field is what a key of a log means.
type field int

const (
	inputField field = iota + 1
	outputField
	cachedField
	besideField // cached prompt tokens that the prompt's count leaves out (Anthropic)
	timeField
	secondsField
	millisecondsField
	tenantField
	classField
	modelField
	sessionField
	statusField
	outcomeField
	errorField
	messageField
	nestedField
	fields // how many there are
)

// keys are the names under which logs have a field, without separators and in
// lower case: those of llmctl's gateway (tenant, alias, input_tokens, e2e_s) and
// records (scheduled_s), of OpenAI's usage objects in both of its APIs,
// Anthropic's, Gemini's, and of OpenTelemetry's conventions for generative AI.
var keys = map[string]field{
	"prompttokens": inputField, "inputtokens": inputField, "contexttokens": inputField, "requesttokens": inputField,
	"numprompttokens": inputField, "numinputtokens": inputField, "prompttokencount": inputField, "inputtokencount": inputField,
	"tokensin": inputField, "genaiusageinputtokens": inputField, "genaiusageprompttokens": inputField,
	"usageprompttokens": inputField, "usageinputtokens": inputField,

	"completiontokens": outputField, "outputtokens": outputField, "generatedtokens": outputField, "responsetokens": outputField,
	"generationtokens": outputField, "numcompletiontokens": outputField, "numoutputtokens": outputField, "numgenerationtokens": outputField,
	"candidatestokencount": outputField, "outputtokencount": outputField, "tokensout": outputField,
	"genaiusageoutputtokens": outputField, "genaiusagecompletiontokens": outputField,
	"usagecompletiontokens": outputField, "usageoutputtokens": outputField,

	"cachedtokens": cachedField, "cachedinputtokens": cachedField, "cachedprompttokens": cachedField,
	"cachedcontenttokencount": cachedField, "genaiusagecachedtokens": cachedField,
	"cachereadinputtokens": besideField, "cachecreationinputtokens": besideField,

	"time": timeField, "timestamp": timeField, "ts": timeField, "datetime": timeField, "date": timeField,
	"created": timeField, "createdat": timeField, "starttime": timeField, "startedat": timeField, "requesttime": timeField,
	"scheduleds": timeField, "at": timeField,

	"e2es": secondsField, "durations": secondsField, "latencys": secondsField, "elapseds": secondsField,
	"durationseconds": secondsField, "latencyseconds": secondsField, "elapsedtime": secondsField,
	"durationms": millisecondsField, "latencyms": millisecondsField, "elapsedms": millisecondsField, "e2ems": millisecondsField,
	"responsetimems": millisecondsField,

	"tenant": tenantField, "tenantid": tenantField, "team": tenantField, "teamid": tenantField, "organization": tenantField,
	"organizationid": tenantField, "orgid": tenantField, "customer": tenantField, "customerid": tenantField,
	"user": tenantField, "userid": tenantField,

	"class": classField, "priorityclass": classField, "priority": classField, "servicetier": classField,
	"model": modelField, "alias": modelField, "modelname": modelField, "modelid": modelField, "genairequestmodel": modelField,
	"session": sessionField, "sessionid": sessionField, "conversationid": sessionField, "threadid": sessionField,

	"status": statusField, "statuscode": statusField, "httpstatus": statusField,
	"outcome": outcomeField, "error": errorField, "msg": messageField,

	"usage": nestedField, "usagemetadata": nestedField, "response": nestedField, "body": nestedField, "result": nestedField,
	"attributes": nestedField, "prompttokensdetails": nestedField, "inputtokensdetails": nestedField,
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", "@", "", " ", "")

// logRow is the fields of one line; what stands further in, such as in a usage
// object, counts only where nothing stands further out.
type logRow struct {
	values [fields]gjson.Result
	depths [fields]int
	beside float64
	cached bool // a field of Anthropic's was there
}

// deepest is how far in fields are looked for: response, body, usage, details.
const deepest = 4

func (r *logRow) read(object gjson.Result, depth int) {
	object.ForEach(func(key, value gjson.Result) bool {
		f := keys[separators.Replace(strings.ToLower(key.Str))]
		switch {
		case f == 0 || value.Type == gjson.Null:
		case f == nestedField:
			if value.IsObject() && depth < deepest {
				r.read(value, depth+1)
			}
		case f == besideField:
			r.cached = true
			r.beside += max(0, value.Num)
			if separators.Replace(strings.ToLower(key.Str)) == "cachereadinputtokens" {
				r.values[cachedField] = value
			}
		case !r.values[f].Exists() || depth < r.depths[f]:
			r.values[f], r.depths[f] = value, depth
		}
		return true
	})
}

// request is what the row says.
func (r *logRow) request() (q Request, broken, leftOut string) {
	q.Cached = -1
	for _, c := range []struct {
		field field
		to    *int
	}{{inputField, &q.Input}, {outputField, &q.Output}, {cachedField, &q.Cached}} {
		v := r.values[c.field]
		if !v.Exists() {
			continue
		}
		n := v.Num
		if v.Type == gjson.String {
			n, _ = strconv.ParseFloat(v.Str, 64) // what is no number is no count either
			if n == 0 && v.Str != "0" {
				n = -1
			}
		}
		if !(n >= 0 && n <= 1e8) || n != math.Trunc(n) || v.IsObject() || v.IsArray() {
			return q, "a count of tokens that is none", ""
		}
		*c.to = int(n)
	}
	if r.cached {
		q.Input += int(min(1e8, r.beside))
	}
	if took := r.values[secondsField]; took.Num > 0 && took.Num < 1e6 {
		q.Took = time.Duration(took.Num * float64(time.Second))
	} else if took := r.values[millisecondsField]; took.Num > 0 && took.Num < 1e9 {
		q.Took = time.Duration(took.Num * float64(time.Millisecond))
	}
	at, known, ok := r.time()
	if !ok {
		return q, "a time that is none", ""
	}
	if known {
		q.At = at
	}
	// The gateway writes a request's line when it has ended.
	if known && r.values[messageField].Str == "request" && r.values[secondsField].Exists() {
		q.At = q.At.Add(-q.Took)
	}
	q.Tenant, q.Class = r.values[tenantField].String(), r.values[classField].String()
	q.Model, q.Session = r.values[modelField].String(), r.values[sessionField].String()
	if q.Input > 0 || q.Output > 0 {
		return q, "", ""
	}
	if r.overload() {
		return q, "", ""
	}
	return q, "", "no count of tokens"
}

// time reads when the request came; ok is false when there is something else.
func (r *logRow) time() (at time.Time, known, ok bool) {
	v := r.values[timeField]
	switch v.Type {
	case gjson.Null:
		return at, false, true
	case gjson.String, gjson.Number:
		ns, ok := trace.ParseTime(v.String())
		return time.Unix(0, ns), ok, ok
	}
	return at, false, false
}

// overload reports a request that came and was turned away or lost because of
// the server, and would have been load; 499 is a client that left.
func (r *logRow) overload() bool {
	status := r.values[statusField].Num
	return status == 429 || status == 499 || status >= 500 && status < 600
}
