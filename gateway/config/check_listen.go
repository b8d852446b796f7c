package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/storeurl"
)

func (c *Config) checkListeners(*collection) error {
	if err := checkAddress("listen", c.Listen); err != nil {
		return at(err, "listen")
	}
	if err := c.TLS.check("tls"); err != nil {
		return at(err, "tls")
	}
	a := c.Admin
	if err := checkVariable("admin.token_env", a.TokenEnv); err != nil {
		return err
	}
	switch {
	case a.Listen == "" && a.TokenEnv != "":
		return at(errors.New("admin.token_env without admin.listen guards nothing"), "admin")
	case a.Listen == "" && a.TLS != TLS{}:
		return at(errors.New("admin.tls without admin.listen protects nothing"), "admin", "tls")
	case a.Listen == "":
		return nil
	}
	if err := checkAddress("admin.listen", a.Listen); err != nil {
		return keyed("admin.listen", err)
	}
	if collide(c.Listen, a.Listen) {
		return at(fmt.Errorf("admin.listen %q is the API's own address: give it another port", a.Listen), "admin", "listen")
	}
	if !loopback(a.Listen) && a.TokenEnv == "" && a.TLS.ClientCA == "" {
		return at(fmt.Errorf("admin.listen %q can be reached from other machines: set admin.token_env or admin.tls.client_ca, or listen on 127.0.0.1", a.Listen), "admin", "listen")
	}
	return keyed("admin.tls", a.TLS.check("admin.tls"))
}

func checkAddress(key, address string) error {
	if address == "" {
		return fmt.Errorf("%s is missing, expected an address like 127.0.0.1:8080", key)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: expected an address like 127.0.0.1:8080, got %q", key, shortened(address))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%s: expected a port from 0 to 65535, got %q", key, shortened(port))
	}
	return nil
}

// collide tells whether two addresses cannot both be listened on. Port 0 is a free
// one, so it collides with none.
func collide(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return every(hostA) || every(hostB) || hostA == hostB || local(hostA) && local(hostB)
}

// every is true for a host that stands for all of the machine's addresses.
func every(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && local(host)
}

func (t TLS) check(key string) error {
	if (t.Cert == "") != (t.Key == "") {
		return fmt.Errorf("%s: cert and key belong together", key)
	}
	if t.Cert == "" && t.ClientCA != "" {
		return fmt.Errorf("%s.client_ca needs cert and key of the gateway's own", key)
	}
	return nil
}

func (c *Config) checkTraces(*collection) error { return keyed("traces.endpoint", c.Traces.check()) }

func (t Traces) check() error {
	if t.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(t.Endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("traces.endpoint: expected the URL of an OTLP collector over HTTP, like http://127.0.0.1:4318")
	case storeurl.CheckPort(u) != nil:
		return fmt.Errorf("traces.endpoint: %w", storeurl.CheckPort(u))
	case u.User != nil || u.RawQuery != "":
		return errors.New("traces.endpoint: credentials in a URL end up in logs, use OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// ParseEndpoint reads a base URL, with or without /v1. Errors do not quote it,
// since it could carry a password.
func ParseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("expected a URL like http://10.0.0.5:8000")
	}
	if u.User != nil {
		return nil, errors.New("credentials in a URL end up in logs, use key_env")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("expected a base URL without query or fragment")
	}
	if err := storeurl.CheckPort(u); err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	u.RawPath = ""
	for _, path := range []string{"/chat/completions", "/completions", "/embeddings", "/responses", "/models"} {
		if strings.HasSuffix(u.Path, path) {
			return nil, fmt.Errorf("expected a base URL, which ends before /v1%s", path)
		}
	}
	return u, nil
}
