package conform

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"unicode/utf8"
)

// framingCases are about the bytes of a stream. An event stream may be written
// in many ways (WHATWG HTML, 9.2.6); many clients understand one.
var framingCases = []Case{
	{
		ID: "framing/space", Title: "a space follows data:", Level: Should, Suite: Engine,
		Why: "clients that look for \"data: \" see no events without it", Issue: "envoyproxy/ai-gateway#2470",
		Sends: streamSends, Expect: `every data line begins with "data: "`,
		needs: stream, try: looks(spaceAfterData),
	},
	{
		ID: "framing/line-ends", Title: "lines end in LF", Level: Should, Suite: Engine,
		Why:   "clients that split at \"\\n\\n\" see no events otherwise",
		Sends: streamSends, Expect: "no CR in the stream",
		needs: stream, try: looks(func(s *streamed) (string, error) {
			if at := bytes.IndexByte(s.body, '\r'); at >= 0 {
				return "", wrong("a CR at byte %d of %d", at, len(s.body))
			}
			return "LF", nil
		}),
	},
	{
		ID: "framing/one-line", Title: "the data of an event is one line", Level: Should, Suite: Engine,
		Why:   "clients decode line by line",
		Sends: streamSends, Expect: "one data line an event",
		needs: stream, try: looks(oneLineEach),
	},
	{
		ID: "framing/blank-line", Title: "a blank line ends the last event", Level: Should, Suite: Engine,
		Why:   "an event without one is dropped by those who follow the standard",
		Sends: streamSends, Expect: `the stream ends in "\n\n"`,
		needs: stream, try: looks(blankLineLast),
	},
	{
		ID: "framing/no-bom", Title: "no byte order mark", Level: Should, Suite: Engine,
		Why:   "clients that look for \"data: \" miss the first event",
		Sends: streamSends, Expect: "the first byte is the first event's",
		needs: stream, try: looks(func(s *streamed) (string, error) {
			if bytes.HasPrefix(s.body, []byte("\xef\xbb\xbf")) {
				return "", wrong("the stream begins with one")
			}
			return "none", nil
		}),
	},
	{
		ID: "framing/whole-events", Title: "an HTTP chunk holds whole events", Level: Info, Suite: Engine,
		Why:   "clients that decode each piece as it comes fail on halves",
		Sends: streamSends, Expect: "every chunk of the body ends where an event ends",
		needs: stream, try: looks(wholeEvents),
	},
	{
		ID: "framing/utf8", Title: "events are UTF-8", Level: Must, Suite: Engine,
		Why: "JSON is; a decoder fails or writes U+FFFD", Issue: "BerriAI/litellm#18842",
		Sends: "a streamed chat that asks for é漢🙂 back", Expect: "every event is valid UTF-8",
		needs: stream, try: func(ctx context.Context, p *probe) (string, error) {
			s, err := p.wide(ctx)
			if err != nil {
				return "", err
			}
			if !utf8.Valid(s.body) {
				return "", wrong("the stream is not UTF-8")
			}
			return sprintf("%d bytes", len(s.body)), nil
		},
	},
	{
		ID: "framing/whole-characters", Title: "no chunk ends inside of a character", Level: Should, Suite: Engine,
		Why: "clients that decode each piece as it comes write U+FFFD", Issue: "BerriAI/litellm#18842",
		Sends: "a streamed chat that asks for é漢🙂 back", Expect: "every chunk of the body is valid UTF-8",
		needs: stream, try: wholeCharacters,
	},
	{
		ID: "framing/compression", Title: "a compressed stream arrives as it is made", Level: Should, Suite: Engine,
		Why: "a compressor that is not flushed holds events back", Issue: "envoyproxy/ai-gateway#1927",
		Sends: streamSends + " and Accept-Encoding: gzip", Expect: "no Content-Encoding: a stream is not worth compressing",
		needs: stream, try: notCompressed,
	},
	{
		ID: "framing/cache-control", Title: "a stream is not to be cached", Level: Should, Suite: Engine,
		Why:   "proxies may keep, and browsers replay, what looks like a document",
		Sends: streamSends, Expect: "Cache-Control with no-cache or no-store",
		needs: stream, try: looks(func(s *streamed) (string, error) {
			control := s.header.Get("Cache-Control")
			if !strings.Contains(control, "no-cache") && !strings.Contains(control, "no-store") {
				return "", wrong("Cache-Control is %q", control)
			}
			return control, nil
		}),
	},
	{
		ID: "framing/accel-buffering", Title: "nginx is told not to buffer", Level: Info, Suite: Engine,
		Why:   "nginx buffers proxied answers unless X-Accel-Buffering says no",
		Sends: streamSends, Expect: "X-Accel-Buffering: no",
		needs: stream, try: looks(func(s *streamed) (string, error) {
			return equal("X-Accel-Buffering", s.header.Get("X-Accel-Buffering"), "no")
		}),
	},
}

// lines are the lines of a stream, whatever they end in.
func lines(body []byte) []string {
	text := strings.TrimPrefix(string(body), "\uFEFF")
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

func spaceAfterData(s *streamed) (string, error) {
	n := 0
	for _, line := range lines(s.body) {
		value, isData := strings.CutPrefix(line, "data:")
		if !isData {
			continue
		}
		n++
		if !strings.HasPrefix(value, " ") {
			return "", wrong("%q", clip(line, 60))
		}
	}
	return sprintf("in %d lines", n), nil
}

func oneLineEach(s *streamed) (string, error) {
	before := false
	for _, line := range lines(s.body) {
		isData := strings.HasPrefix(line, "data:")
		if isData && before {
			return "", wrong("an event has several data lines, one is %q", clip(line, 60))
		}
		before = isData
	}
	return "one each", nil
}

func blankLineLast(s *streamed) (string, error) {
	if err := s.broken(); err != nil {
		return "", err
	}
	all := lines(s.body)
	if n := len(all); n >= 3 && all[n-1] == "" && all[n-2] == "" {
		return "there is one", nil
	}
	return "", wrong("the stream ends in %q", clip(string(s.body[max(0, len(s.body)-40):]), 40))
}

func wholeEvents(s *streamed) (string, error) {
	if !s.chunked {
		return "", skipped("the body has no chunks")
	}
	for i, part := range s.parts {
		all := lines(part)
		if n := len(all); n >= 2 && all[n-1] == "" && all[n-2] == "" {
			continue
		}
		if i == len(s.parts)-1 {
			continue // the last line is another case's
		}
		return "", wrong("chunk %d of %d ends in %q", i+1, len(s.parts), clip(string(part[max(0, len(part)-30):]), 40))
	}
	return sprintf("%d events in %d chunks", len(s.events), len(s.parts)), nil
}

func wholeCharacters(ctx context.Context, p *probe) (string, error) {
	s, err := p.wide(ctx)
	if err != nil {
		return "", err
	}
	if !s.chunked {
		return "", skipped("the body has no chunks")
	}
	if isASCII(s.body) {
		return "", skipped("the model answered in ASCII")
	}
	for i, part := range s.parts {
		if insideCharacter(part) {
			return "", wrong("chunk %d of %d ends inside of a character", i+1, len(s.parts))
		}
	}
	return sprintf("%d chunks", len(s.parts)), nil
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func notCompressed(ctx context.Context, p *probe) (string, error) {
	s, err := p.readStream(ctx, request{
		method: http.MethodPost, path: chatPath, body: []byte(p.chat(members{"stream": true})),
		header: http.Header{"Accept-Encoding": {"gzip"}},
	}, nil)
	if err != nil {
		return "", err
	}
	if coding := s.header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return "", wrong("Content-Encoding: %s", coding)
	}
	return "not compressed", nil
}
