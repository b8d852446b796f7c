package mock

import (
	"fmt"
	"strings"
)

// contentFaults are events that clients take for tokens that are none, or the
// other way round.
var contentFaults = []Fault{
	{Name: "role_first", About: "the role comes at once, in an event with an empty content; the first token comes in its time",
		make: func(s *Server, r *Request) *Script { return role(s, r, `""`) }},
	{Name: "role_null", About: "the same with content: null",
		make: func(s *Server, r *Request) *Script { return role(s, r, `null`) }},
	thinking("reasoning_content", "the first half of the tokens are thought, as reasoning_content", "reasoning_content"),
	thinking("reasoning", "the first half of the tokens are thought, as reasoning", "reasoning"),
	thinking("reasoning_both", "the first half of the tokens are thought, under both names with the same text", "reasoning", "reasoning_content"),
	{Name: "reasoning_only", About: "the answer ends at its limit inside of the thoughts: no visible output", make: func(s *Server, r *Request) *Script {
		return s.script(r, func(st *stream) {
			st.reasoning, st.calls, st.reason, st.names = st.tokens, 0, "length", []string{"reasoning_content"}
		})
	}},
	{Name: "tool_call", About: "a tool call carries the answer", make: func(s *Server, r *Request) *Script {
		return s.script(r, func(st *stream) { st.calls, st.reason = min(1, st.tokens-st.reasoning), "tool_calls" })
	}},
	framing("tool_calls_null", "tool_calls: null in every delta with content", `"content":`, `"tool_calls":null,"content":`),
	between("content_null", "an event with content: null between tokens", Event(`{"choices":[{"index":0,"delta":{"content":null},"finish_reason":null}]}`)),
	between("delta_null", "an event with delta: null between tokens", Event(`{"choices":[{"index":0,"delta":null}]}`)),
	between("choices_null", "an event with choices: null between tokens", Event(`{"choices":null}`)),
	between("choices_empty", "an event with choices: [] between tokens", Event(`{"choices":[]}`)),
	between("error_null", "events with error: null, an empty text and {}: no errors", Event(`{"error":null,"choices":[]}`)+Event(`{"error":"","choices":[]}`)+Event(`{"error":{},"choices":[]}`)),
	{Name: "usage_in_finish", About: "usage comes with the finish_reason, not in an event of its own", make: func(s *Server, r *Request) *Script {
		tokens := 0
		script := s.script(r, func(st *stream) { st.usage, tokens = false, st.tokens })
		finish := &script.Pieces[script.tokens]
		finish.Data = strings.TrimSuffix(finish.Data, "}\n\n") + "," + string(appendUsage(nil, r.Words(), 0, tokens, 0)) + "}\n\n"
		return script
	}},
	{Name: "no_usage", About: "no usage, although asked for", make: func(s *Server, r *Request) *Script {
		return s.script(r, func(st *stream) { st.usage = false })
	}},
	{Name: "usage_implausible", About: "usage of a million tokens, ten times as many as could have come", make: func(s *Server, r *Request) *Script {
		return s.script(r, func(st *stream) { st.usage = false }).beforeDone(Event(`{"choices":[],` + string(appendUsage(nil, r.Words(), 0, 1_000_000, 0)) + "}"))
	}},
	{Name: "usage_negative", About: "usage with negative counts", make: func(s *Server, r *Request) *Script {
		return s.script(r, func(st *stream) { st.usage = false }).beforeDone(Event(`{"choices":[],` + string(appendUsage(nil, -1, 0, -5, 0)) + "}"))
	}},
	{Name: "usage_only", About: "a stream with usage and no output", Fatal: true, make: func(s *Server, r *Request) *Script {
		script := s.script(r, func(st *stream) { st.usage = false })
		at := script.Pieces[0].At
		script.Pieces = []Piece{{at, Event(`{"choices":[],` + string(appendUsage(nil, r.Words(), 0, 0, 0)) + "}")}, {at, Done}}
		return script
	}},
	{Name: "empty", About: "an event stream without any event", Fatal: true, make: func(*Server, *Request) *Script { return new(Script) }},
	huge("huge_line", "the first token is 200 KB long, in one line", 200<<10),
	huge("huge_line_20mb", "the first token is 20 MB long, in one line", 20<<20),
}

// role sends the role before the first token is due.
func role(s *Server, r *Request, content string) *Script {
	script := s.script(r)
	script.each(func(data string) string { return strings.Replace(data, `"role":"assistant",`, "", 1) })
	event := fmt.Sprintf(`{"id":"chatcmpl-%x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]}`, r.index, content)
	script.insert(0, Event(event))
	script.Pieces[0].At = 0
	return script
}

func thinking(name, about string, members ...string) Fault {
	return Fault{Name: name, About: about, make: func(s *Server, r *Request) *Script {
		return s.script(r, func(st *stream) { st.reasoning, st.names = (st.tokens+1)/2, members })
	}}
}

// between is a fault that puts events without output between the tokens.
func between(name, about, events string) Fault {
	return Fault{Name: name, About: about, make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		for i := script.tokens; i >= 0; i-- {
			script.insert(i, events)
		}
		return script
	}}
}

func huge(name, about string, size int) Fault {
	return Fault{Name: name, About: about, make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.Pieces[0].Data = strings.Replace(script.Pieces[0].Data, " word", " "+strings.Repeat("x", size), 1)
		return script
	}}
}

// beforeDone puts an event before [DONE], or last where there is none.
func (s *Script) beforeDone(event string) *Script {
	at := len(s.Pieces)
	if at > 0 && s.Pieces[at-1].Data == Done {
		at--
	}
	return s.insert(at, event)
}
