package infer

import (
	"io"
	"iter"
	"math"
	"slices"
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
// A request that did not end well counts toward the load that was offered, and
// its lengths do not count, whatever it says of them; one refused for a fault of
// its own is left out, and so is one that ended well without a count of tokens.
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
	sentField // of llmctl's records, of which those of a closed loop have no other time
	endField
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
	"sents": sentField, "closeds": endField,

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
	if !r.tokens(&q) {
		return q, "a count of tokens that is none", ""
	}
	if !r.moments(&q) {
		return q, "a time that is none", ""
	}
	q.Tenant, q.Class = r.values[tenantField].String(), r.values[classField].String()
	q.Model, q.Session = r.values[modelField].String(), r.values[sessionField].String()
	switch {
	case r.refused():
		return q, "", "refused for a fault of its own"
	case r.failed():
		q.Input, q.Output, q.Cached = 0, 0, -1
	case q.Input == 0 && q.Output == 0:
		return q, "", "no count of tokens"
	}
	return q, "", ""
}

// tokens reads the counts of tokens.
func (r *logRow) tokens(q *Request) (ok bool) {
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
			return false
		}
		*c.to = int(n)
	}
	if r.cached {
		q.Input += int(min(1e8, r.beside))
	}
	return true
}

// moments reads when the request came and how long it took. Llmctl's gateway
// writes a request's line when it has ended; its records have the moment of the
// end, and those of a closed loop no time at which requests were due.
func (r *logRow) moments(q *Request) (ok bool) {
	if took := r.values[secondsField].Float(); took > 0 && took < 1e6 {
		q.Took = time.Duration(took * float64(time.Second))
	} else if took := r.values[millisecondsField].Float(); took > 0 && took < 1e9 {
		q.Took = time.Duration(took * float64(time.Millisecond))
	}
	at, known, ok := r.time(timeField)
	sent, wasSent, sentOK := r.time(sentField)
	end, ended, endOK := r.time(endField)
	if !ok || !sentOK || !endOK {
		return false
	}
	if !known && wasSent {
		at, known, q.Closed = sent, true, true
	}
	if !known {
		return true
	}
	q.At = at
	if ended && end.After(at) {
		q.Took = end.Sub(at)
	}
	if r.values[messageField].Str == "request" && r.values[secondsField].Exists() {
		q.At = q.At.Add(-q.Took)
	}
	return true
}

// time reads one time; ok is false when there is something else.
func (r *logRow) time(f field) (at time.Time, known, ok bool) {
	v := r.values[f]
	switch v.Type {
	case gjson.Null:
		return at, false, true
	case gjson.String, gjson.Number:
		ns, ok := trace.ParseTime(v.String())
		return time.Unix(0, ns), ok, ok
	}
	return at, false, false
}

// refused reports a request that its own fault kept from being load: 429 is the
// server's limit, 408 its time, and 499 a client that left.
func (r *logRow) refused() bool {
	status, _ := r.ended(statusField)
	return status >= 400 && status < 500 && status != 408 && status != 429 && status != 499
}

// endedWell are the words of logs for a request that was answered.
var endedWell = []string{"", "ok", "success", "succeeded", "successful", "complete", "completed", "incomplete", "done", "finished"}

// failed reports a request that was turned away, lost or given up: by its status,
// its outcome, or an error.
func (r *logRow) failed() bool {
	status, word := r.ended(statusField)
	_, outcome := r.ended(outcomeField)
	if status >= 400 || !slices.Contains(endedWell, word) || !slices.Contains(endedWell, outcome) {
		return true
	}
	switch v := r.values[errorField]; v.Type {
	case gjson.String:
		return v.Str != ""
	case gjson.JSON:
		return len(v.Map()) > 0 || len(v.Array()) > 0 && !v.IsObject()
	default:
		return v.Bool()
	}
}

// ended reads how a request ended: a number, which text may begin with, or a word.
func (r *logRow) ended(f field) (status float64, word string) {
	v := r.values[f]
	if v.Type != gjson.String {
		return v.Num, ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(v.Str), " ")
	status, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, strings.ToLower(v.Str)
	}
	return status, ""
}
