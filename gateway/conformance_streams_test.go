package gateway

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// event is one event of a stream with the choices, and whatever else, that are given.
func event(members string) string { return "data: {" + members + "}\n\n" }

func delta(choice int, members string) string {
	return event(`"choices":[{"index":` + strconv.Itoa(choice) + `,"delta":{` + members + `}}]`)
}

// What servers say in ways of their own is understood, billed right, and passed on
// byte for byte.
func TestStreamsOfServersWithWaysOfTheirOwn(t *testing.T) {
	const partial = `"usage":{"prompt_tokens":7,"completion_tokens":`
	ends := strings.TrimSuffix(strings.TrimPrefix(finishEvent, "data: {"), "}\n\n")
	usage := event(`"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}`)
	tests := []struct {
		name   string
		stream string
		want   string // empty: as it came
		source string
		output int64
	}{
		{"a byte order mark", "\uFEFF" + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"carriage returns alone", strings.ReplaceAll(helloEvent+finishEvent+doneEvent, "\n", "\r"), "", "estimated", 1},
		{"event, id and retry lines", "retry: 3000\nid: 1\nevent: message\n" + helloEvent + "id: 2\n" + finishEvent + doneEvent, "", "estimated", 1},
		{"fields that no standard knows", "x-mine: 1\n" + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"an event on several lines", "data: {\"choices\":\ndata: [{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n" + finishEvent + doneEvent, "", "estimated", 1},
		{"blank lines between events", helloEvent + "\n\n" + finishEvent + "\n" + doneEvent, "", "estimated", 1},
		{"data that is empty", "data:\n\n" + helloEvent + "data: \n\n" + finishEvent + doneEvent, helloEvent + finishEvent + doneEvent, "estimated", 1},
		{"DONE without a space", helloEvent + finishEvent + "data:[DONE]\n\n", "", "estimated", 1},
		{"DONE with more than one", helloEvent + finishEvent + "data:  [DONE] \n\n", "", "estimated", 1},
		{"comments in the place of roles", ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + helloEvent + finishEvent + doneEvent, "", "estimated", 1},

		{"empty choices first, as for filters of prompts", event(`"choices":[],"prompt_filter_results":[]`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"choices of null", event(`"choices":null`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"no choices at all", event(`"id":"x"`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"a delta of null", event(`"choices":[{"index":0,"delta":null}]`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"content of null is no output", delta(0, `"content":null`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"an error of null is none", event(`"error":null,"choices":[]`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"numbers and texts for choices", event(`"choices":7`) + event(`"choices":"x"`) + event(`"choices":[7]`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"events of null", "data: null\n\n" + helloEvent + finishEvent + doneEvent, helloEvent + finishEvent + doneEvent, "estimated", 1},

		{"reasoning under either name", delta(0, `"reasoning_content":"x"`) + delta(0, `"reasoning":"y"`) + finishEvent + doneEvent, "", "estimated", 2},
		{"content in parts", delta(0, `"content":[{"type":"thinking","thinking":[{"type":"text","text":"x"}]}]`) + finishEvent + doneEvent, "", "estimated", 1},
		{"a refusal", delta(0, `"refusal":"no"`) + finishEvent + doneEvent, "", "estimated", 1},
		{"sound", delta(0, `"audio":{"data":"AAAA"}`) + finishEvent + doneEvent, "", "estimated", 1},
		{"a call of the old kind", delta(0, `"function_call":{"name":"f","arguments":""}`) + finishEvent + doneEvent, "", "estimated", 1},
		{"empty lists of calls are no output", delta(0, `"content":"","tool_calls":[]`) + helloEvent + finishEvent + doneEvent, "", "estimated", 1},

		{"a running total with every event", event(`"choices":[{"index":0,"delta":{"content":"x"}}],`+partial+`1}`) + event(`"choices":[{"index":0,"delta":{"content":"y"}}],`+partial+`2}`) + finishEvent + doneEvent, "", "usage", 2},
		{"usage with the finish reason", event(ends[:strings.LastIndex(ends, `,"usage"`)]+`,"usage":{"prompt_tokens":7,"completion_tokens":9}`) + doneEvent, "", "usage", 9},
		{"usage before the finish reason", helloEvent + usage + finishEvent + doneEvent, helloEvent + finishEvent + doneEvent, "usage", 2},
		{"usage twice: the last one counts", helloEvent + finishEvent + event(`"choices":[],`+partial+`5}`) + usage + doneEvent, helloEvent + finishEvent + doneEvent, "usage", 2},
		{"usage beside choices of null", helloEvent + finishEvent + event(`"choices":null,"usage":{"prompt_tokens":11,"completion_tokens":2}`) + doneEvent, helloEvent + finishEvent + doneEvent, "usage", 2},
		{"usage without choices", helloEvent + finishEvent + event(`"usage":{"prompt_tokens":11,"completion_tokens":2}`) + doneEvent, helloEvent + finishEvent + doneEvent, "usage", 2},
		{"usage of zeros is no count", helloEvent + finishEvent + event(`"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}`) + doneEvent, helloEvent + finishEvent + doneEvent, "estimated", 1},
		{"usage that cannot be", helloEvent + finishEvent + event(`"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":1e30}`) + doneEvent, helloEvent + finishEvent + doneEvent, "estimated", 1},

		{"a content filter's finish", helloEvent + strings.Replace(finishEvent, `"stop"`, `"content_filter"`, 1) + doneEvent, "", "estimated", 1},
		{"the same choice finishes twice", helloEvent + finishEvent + finishEvent + doneEvent, "", "estimated", 1},
		{"DONE without a finish reason", helloEvent + doneEvent, "", "estimated", 1},
		{"a finish reason alone", finishEvent + doneEvent, "", "estimated", 0},
	}
	for _, test := range tests {
		for cut, pieces := range map[string][]string{"whole": {test.stream}, "byte by byte": strings.Split(test.stream, "")} {
			t.Run(test.name+", "+cut, func(t *testing.T) {
				s := serve(t, upstreamAnswers(pieces...))
				got := s.post(streamBody)
				want := test.want
				if want == "" {
					want = test.stream
				}
				if got.status != 200 || got.body != want {
					t.Errorf("status %d\ngot  %q\nwant %q", got.status, got.body, want)
				}
				s.settled()
				line := s.requestLine()
				if v := gjson.Get(line, "outcome").Str; v != string(outcomeOK) {
					t.Errorf("outcome %q", v)
				}
				if source, n := gjson.Get(line, "tokens_source").Str, gjson.Get(line, "output_tokens").Int(); source != test.source || n != test.output {
					t.Errorf("%d output tokens by %s, want %d by %s", n, source, test.output, test.source)
				}
			})
		}
	}
}

// An answer is complete when all its choices are: one that says so twice does not
// make up for another that has not.
func TestOneChoiceThatFinishesTwiceIsNotTwo(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, finishEvent, finishEvent))
	got := s.post(strings.Replace(streamBody, `"stream":true`, `"stream":true,"n":2`, 1))
	if want := helloEvent + finishEvent + finishEvent + interruptedEvent; got.body != want {
		t.Errorf("got  %q\nwant %q", got.body, want)
	}
	s.settled()
}

// Every choice of several finishes in an event of its own or in one of all.
func TestAllChoicesThatFinishMakeAnAnswerComplete(t *testing.T) {
	second := strings.Replace(finishEvent, `"index":0`, `"index":1`, 1)
	both := event(`"choices":[{"index":1,"delta":{},"finish_reason":"length"},{"index":0,"delta":{},"finish_reason":"stop"}]`)
	for name, end := range map[string]string{"apart": second + finishEvent, "at once": both} {
		s := serve(t, upstreamAnswers(helloEvent, end))
		got := s.post(strings.Replace(streamBody, `"stream":true`, `"stream":true,"n":2`, 1))
		if want := helloEvent + end + doneEvent; got.body != want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got.body, want)
		}
		s.settled()
	}
}

// What is no answer gets an error with a status: nothing has been sent yet.
func TestStreamsWithoutAnAnswer(t *testing.T) {
	for name, stream := range map[string]string{
		"comments alone": strings.Repeat(": ping\n\n", 100), "roles alone": roleEvent, "usage alone": usageEvent,
		"blank lines": "\n\n\n\n", "half an event": "data: {\"choices\":[", "text": "Bad gateway\n", "a byte order mark": "\uFEFF",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, upstreamAnswers(stream))
			got := s.post(streamBody)
			if got.status != 502 || gjson.Get(got.body, "error.code").Str != "stream_interrupted" || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("status %d of type %q: %s", got.status, got.header.Get("Content-Type"), got.body)
			}
			s.settled()
		})
	}
}
