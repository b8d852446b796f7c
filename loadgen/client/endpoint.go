package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// endpoint is where requests go.
type endpoint struct {
	root  *url.URL // without /v1, credentials, query and final slash
	user  *url.Userinfo
	query string // of every request, such as api-version=…; never shown
}

// asked is a URL of this endpoint as it is requested: with its query.
func (e endpoint) asked(public string) string {
	if e.query == "" {
		return public
	}
	return public + "?" + e.query
}

// parseEndpoint reads a base URL as people write it: with or without scheme,
// /v1 or a final slash.
func parseEndpoint(s string) (endpoint, error) {
	text := strings.TrimSpace(s)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return endpoint{}, fmt.Errorf("parsing endpoint %q, expected a URL like http://localhost:8000/v1", redactURL(s))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return endpoint{}, fmt.Errorf("endpoint %q has scheme %s, expected http or https", redactURL(s), u.Scheme)
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(path, "/v1")
	return endpoint{
		root:  &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(path, "/")},
		user:  u.User,
		query: u.RawQuery,
	}, nil
}

// PublicEndpoint is an endpoint as it may be shown and kept: the base URL
// without credentials or a query. It is empty when s is no URL.
func PublicEndpoint(s string) string {
	e, err := parseEndpoint(s)
	if err != nil {
		return ""
	}
	return e.String()
}

// Metrics is where the Prometheus page of an endpoint would be: at /metrics
// beside /v1. It is empty when s is no URL.
func Metrics(s string) string {
	e, err := parseEndpoint(s)
	if err != nil {
		return ""
	}
	return e.metrics()
}

// Authorize sets the credentials for an endpoint: the API key, else what its
// URL holds.
func Authorize(header http.Header, key, s string) {
	if e, err := parseEndpoint(s); err == nil {
		authorize(header, key, e)
	}
}

// redactURL hides what may be a password between the scheme and the host.
func redactURL(s string) string {
	at := strings.LastIndex(s, "@")
	if at < 0 {
		return s
	}
	return "…" + s[at:]
}

func (e endpoint) String() string { return e.root.String() + "/v1" }

func (e endpoint) models() string { return e.root.String() + "/v1/models" }

func (e endpoint) metrics() string { return e.root.String() + "/metrics" }

func (e endpoint) generate(api API) string { return e.root.String() + api.dialect().path }
