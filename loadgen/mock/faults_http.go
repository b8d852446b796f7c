package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const streamHead = "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n"

// httpFaults are about the message around the events.
var httpFaults = []Fault{
	{Name: "status_201", About: "status 201, and an answer as with 200", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.Status = http.StatusCreated
		return script
	}},
	{Name: "text_plain", About: "an event stream that calls itself text/plain", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.Header = http.Header{"Content-Type": {"text/plain"}}
		return script
	}},
	{Name: "html", About: "status 200 and a web page, as a login portal or a proxy sends", Fatal: true, make: func(*Server, *Request) *Script {
		return typed(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html><html><head><title>Welcome</title></head><body>Sign in</body></html>\n")
	}},
	{Name: "json", About: "one JSON document, although a stream was asked for", Fatal: true, make: func(s *Server, r *Request) *Script {
		st := s.stream(r, r.Words(), 0)
		return typed(http.StatusOK, applicationJSON, string(st.document(nil, st)))
	}},
	{Name: "slow_header", About: "the header comes byte by byte, a millisecond apart", make: func(s *Server, r *Request) *Script {
		script := s.framed(r, "HTTP/1.1 200 OK\r\n"+streamHead, "", "")
		head := script.Pieces[0]
		var pieces []Piece
		for i := range len(head.Data) {
			pieces = append(pieces, Piece{head.At + time.Duration(i)*time.Millisecond, head.Data[i : i+1]})
		}
		script.Pieces = append(pieces, script.Pieces[1:]...)
		return script
	}},
	{Name: "informational", About: "100 Continue and 103 Early Hints before the answer", make: func(s *Server, r *Request) *Script {
		return s.framed(r, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 200 OK\r\n"+streamHead, "", "")
	}},
	{Name: "chunk_extensions", About: "chunks with extensions (RFC 9112, 7.1.1)", make: func(s *Server, r *Request) *Script {
		return s.framed(r, "HTTP/1.1 200 OK\r\n"+streamHead, `;name="va;lue";flag`, "")
	}},
	{Name: "trailers", About: "trailers after the last chunk (RFC 9112, 7.1.2)", make: func(s *Server, r *Request) *Script {
		return s.framed(r, "HTTP/1.1 200 OK\r\nTrailer: X-Checksum\r\n"+streamHead, "", "X-Checksum: 0\r\n")
	}},
	{Name: "header_case", About: "header names in lower and upper case, with spaces around their values", make: func(s *Server, r *Request) *Script {
		script := s.framed(r, "HTTP/1.1 200 OK\r\ncontent-type:text/event-stream   \r\nCACHE-CONTROL:   no-cache\r\n", "", "")
		script.Pieces[0].Data = strings.Replace(script.Pieces[0].Data, "Transfer-Encoding: chunked", "transfer-encoding:Chunked", 1)
		return script
	}},
	{Name: "http_1_0", About: "HTTP/1.0: a body that ends with its connection", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.Raw, script.End = true, Abort
		return script.insert(0, "HTTP/1.0 200 OK\r\n"+streamHead+"\r\n")
	}},
	{Name: "content_length", About: "a stream with its length instead of chunks", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n", streamHead, len(script.text()))
		script.Raw = true
		return script.insert(0, head)
	}},
	{Name: "chunk_size_bad", About: "a chunk whose size is no number", Fatal: true, make: func(s *Server, r *Request) *Script {
		script := s.framed(r, "HTTP/1.1 200 OK\r\n"+streamHead, "", "")
		n := max(2, len(script.Pieces)/2)
		script.upTo(n, Abort).Pieces[n-1].Data = "zz\r\n"
		return script
	}},
	{Name: "idle_close", About: "the connection ends right after the answer, though nothing said so", make: func(s *Server, r *Request) *Script {
		script := s.script(r)
		script.End = Drop
		return script
	}},
}

// framed is the faultless answer with a framing of its own: head is the status
// line and header as far as they are not about the framing, extension is what
// follows the size of each chunk, trailer what follows the last one.
func (s *Server) framed(r *Request, head, extension, trailer string) *Script {
	script := s.script(r).each(func(data string) string {
		return strconv.FormatInt(int64(len(data)), 16) + extension + "\r\n" + data + "\r\n"
	})
	script.Raw = true
	script.insert(0, head+"Transfer-Encoding: chunked\r\n\r\n")
	last := script.Pieces[len(script.Pieces)-1].At
	script.Pieces = append(script.Pieces, Piece{last, "0\r\n" + trailer + "\r\n"})
	return script
}

func typed(status int, kind, body string) *Script {
	return &Script{Status: status, Header: http.Header{"Content-Type": {kind}}, Pieces: []Piece{{Data: body}}}
}

// refusalFaults are answers that are no answers.
var refusalFaults = []Fault{
	{Name: "http_401", About: "401 with a message", Fatal: true, make: refused(http.StatusUnauthorized, "incorrect API key provided")},
	{Name: "http_404", About: "404 with a message", Fatal: true, make: refused(http.StatusNotFound, "the model does not exist")},
	{Name: "http_429", About: "429 with Retry-After: 1", Fatal: true, make: func(s *Server, r *Request) *Script {
		script := refused(http.StatusTooManyRequests, "rate limit reached")(s, r)
		script.Header.Set("Retry-After", "1")
		return script
	}},
	{Name: "http_500", About: "500 with a message", Fatal: true, make: refused(http.StatusInternalServerError, "internal error")},
	{Name: "http_502", About: "502 with a web page, as a proxy sends", Fatal: true, make: func(*Server, *Request) *Script {
		return typed(http.StatusBadGateway, "text/html", "<html><head><title>502 Bad Gateway</title></head><body><hr>nginx</body></html>\n")
	}},
	{Name: "http_503", About: "503 with a message", Fatal: true, make: refused(http.StatusServiceUnavailable, "the server is overloaded")},
	{Name: "http_503_twice", About: "503, 503, then an answer, and again: only a client that retries gets all", make: func(s *Server, r *Request) *Script {
		if r.index%3 == 2 {
			return s.script(r)
		}
		return refused(http.StatusServiceUnavailable, "the server is overloaded")(s, r)
	}},
	{Name: "redirect", About: "307 to elsewhere", Fatal: true, make: func(*Server, *Request) *Script {
		return &Script{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"/elsewhere"}}}
	}},
	refusing("refuses_stream_options", "400 to requests with stream_options, naming it", "stream_options"),
	refusing("refuses_ignore_eos", "400 to requests with ignore_eos or min_tokens, naming it", "ignore_eos", "min_tokens"),
	refusing("refuses_max_tokens", "400 to requests with max_tokens, naming max_completion_tokens", "max_tokens"),
}

func refused(status int, message string) func(*Server, *Request) *Script {
	return func(*Server, *Request) *Script {
		return typed(status, applicationJSON, fmt.Sprintf(`{"error":{"message":%s,"type":"mock","code":%d}}`, quoted(message), status))
	}
}

// refusing is a server that does not know some member of the body.
func refusing(name, about string, members ...string) Fault {
	return Fault{Name: name, About: about, make: func(s *Server, r *Request) *Script {
		for _, member := range members {
			if !r.has(member) {
				continue
			}
			message := "Unrecognized request argument supplied: " + member
			if member == "max_tokens" {
				message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
			}
			return refused(http.StatusBadRequest, message)(s, r)
		}
		return s.script(r)
	}}
}
