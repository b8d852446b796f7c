package client

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/llmctl/llmctl/loadgen/client/wire"
)

// server is one endpoint of a client.
type server struct {
	target endpoint
	url    string
	host   string // of the Host field, when the user set one
	header http.Header

	pool *wire.Pool // nil where net/http sends the requests
	head []byte     // the request's head up to the value of Content-Length
}

func (c *Client) newServer(o Options, base string) (*server, error) {
	target, err := parseEndpoint(base)
	if err != nil {
		return nil, err
	}
	s := &server{target: target, url: target.asked(target.generate(o.API)), host: o.Headers.Get("Host")}
	if s.header, err = o.header(target); err != nil {
		return nil, err
	}
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, fmt.Errorf("parsing endpoint %q: %w", PublicURL(s.url), err)
	}
	if o.HTTP.ours(u) {
		s.pool = c.wires.Pool(address(u))
		s.head = requestHead(u, s.host, s.header)
	}
	return s, nil
}

// header is the fields of every request.
func (o Options) header(target endpoint) (http.Header, error) {
	header := http.Header{}
	for name, values := range o.Headers {
		for _, value := range values {
			if strings.ContainsFunc(name+value, unicode.IsControl) {
				return nil, fmt.Errorf("header %.40q holds a line break or another control character", name) // the value may be secret
			}
		}
		if name = http.CanonicalHeaderKey(name); name != "Host" {
			header[name] = append([]string(nil), values...)
		}
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	if o.API.dialect().document {
		header.Set("Accept", "application/json")
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "llmctl")
	}
	authorize(header, o.APIKey, target)
	return header, nil
}

// authorize sets the credentials: those that the user's own header holds, else the
// API key, else what the URL holds.
func authorize(header http.Header, key string, target endpoint) {
	switch {
	case header.Get("Authorization") != "":
	case key != "":
		header.Set("Authorization", "Bearer "+key)
	case target.user != nil:
		password, _ := target.user.Password()
		basic := http.Request{Header: header}
		basic.SetBasicAuth(target.user.Username(), password)
	}
}

// requestHead writes the head of a request up to the length of its body.
func requestHead(u *url.URL, host string, header http.Header) []byte {
	if host == "" {
		host = u.Host
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", u.RequestURI(), host)
	framing := map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Trailer": true}
	_ = header.WriteSubset(&b, framing) // a buffer takes everything
	b.WriteString("Content-Length: ")
	return b.Bytes()
}

// headFor is the head of a request with a body of n bytes.
func (s *server) headFor(n int) []byte {
	head := make([]byte, len(s.head), len(s.head)+24)
	copy(head, s.head)
	head = strconv.AppendInt(head, int64(n), 10)
	return append(head, "\r\n\r\n"...)
}

// address is the host and port to connect to over plain HTTP.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
