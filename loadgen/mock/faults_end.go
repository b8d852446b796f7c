package mock

import (
	"strings"
	"time"
)

// endFaults are answers that end in another way than they should.
var endFaults = []Fault{
	{Name: "error_object", About: "status 200, half of the tokens, then an error object and [DONE]", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, Event(`{"error":{"message":"the engine failed","type":"internal_error","code":500}}`)+Done, Close)
	}},
	{Name: "error_event", About: "status 200, half of the tokens, then event: error", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, "event: error\ndata: {\"message\":\"the engine is overloaded\"}\n\n", Close)
	}},
	{Name: "error_first", About: "status 200, and an error object in place of the first token", Fatal: true, make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.Pieces[0].Data = Event(`{"error":{"message":"the engine failed","code":500}}`)
		return script.upTo(1, Close)
	}},
	{Name: "not_json", About: "half of the tokens, then an event that is no JSON", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, Event("oops"), Close)
	}},
	{Name: "eof", About: "the body ends after half of the tokens, in an orderly way", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, "", Close)
	}},
	{Name: "eof_in_event", About: "the body ends inside of an event, in an orderly way", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, `data: {"choices":[{"index":0,"del`, Close)
	}},
	{Name: "abort", About: "the connection ends (FIN) after half of the tokens", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, "", Abort)
	}},
	{Name: "reset", About: "the connection breaks (RST) after half of the tokens", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, "", Reset)
	}},
	{Name: "reset_first", About: "the connection breaks (RST) when the first token is due", Fatal: true, make: func(s *Server, r *Request) *Script {
		return &Script{Raw: true, Pieces: []Piece{{At: s.firstAt(r.Words())}}, End: Reset}
	}},
	{Name: "abort_after_finish", About: "the connection ends (FIN) after the finish_reason", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		return script.upTo(script.tokens+1, Abort)
	}},
	{Name: "no_done", About: "a finish_reason, and no [DONE]", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		if last := len(script.Pieces) - 1; script.Pieces[last].Data == Done {
			script.upTo(last, Close)
		}
		return script
	}},
	{Name: "no_finish", About: "[DONE], and no finish_reason", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		at := script.tokens
		script.Pieces = append(script.Pieces[:at:at], script.Pieces[at+1:]...)
		return script
	}},
	{Name: "hang_first", About: "nothing ever comes, not even a header", Fatal: true, make: func(*Server, *Request) *Script {
		return &Script{Raw: true, End: Hang}
	}},
	{Name: "hang_header", About: "a header comes, and nothing else ever", Fatal: true, make: func(*Server, *Request) *Script {
		return &Script{End: Hang}
	}},
	{Name: "hang_middle", About: "nothing comes after half of the tokens", Fatal: true, make: func(s *Server, r *Request) *Script {
		return broken(s, r, "", Hang)
	}},
	{Name: "hang_after_finish", About: "the answer is whole, and its body never ends", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.End = Hang
		return script
	}},
	{Name: "endless", About: "tokens come for ever", Fatal: true, make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.upTo(max(1, script.tokens), Repeat).Every = max(s.ITL, time.Millisecond)
		return script
	}},
	{Name: "pings", About: "comments come for ever, and no token", Fatal: true, make: func(s *Server, r *Request) *Script {
		return &Script{Pieces: []Piece{{Data: ": ping\n\n"}}, End: Repeat, Every: max(s.ITL, 10*time.Millisecond)}
	}},
}

// broken is an answer that has something else after half of its tokens.
func broken(s *Server, r *Request, then string, end End) *Script {
	script := s.script(r)
	at := script.middle()
	script.insert(at, then)
	if strings.TrimSpace(then) == "" {
		return script.upTo(at, end)
	}
	return script.upTo(at+1, end)
}
