package storeurl

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Schemes of the two stores. The second Redis one is Redis over TLS; the two of
// Postgres mean the same (PostgreSQL manual, "Connection URIs").
var (
	redis    = []string{"redis", "rediss"}
	postgres = []string{"postgres", "postgresql"}
)

// Redis reads a redis:// or rediss:// URL, whose path is the number of a database
// or nothing (IANA, "redis" and "rediss" URI schemes).
func Redis(text string) (*url.URL, error) {
	u, err := parse(text, redis, "redis://10.0.0.5:6379/0")
	if err != nil {
		return nil, err
	}
	if name := strings.Trim(u.Path, "/"); name != "" {
		if _, err := strconv.ParseUint(name, 10, 16); err != nil {
			return nil, errors.New("expected the number of a database behind the last slash, like redis://10.0.0.5:6379/0")
		}
	}
	return u, nil
}

// Postgres reads a postgres:// or postgresql:// URL.
func Postgres(text string) (*url.URL, error) {
	return parse(text, postgres, "postgres://user@10.0.0.5:5432/usage")
}

// IsPostgres tells whether a text wants to be the URL of a Postgres.
func IsPostgres(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains(postgres, scheme)
}

func parse(text string, schemes []string, example string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" {
		return nil, fmt.Errorf("expected a URL like %s", example)
	}
	if err := CheckPort(u); err != nil {
		return nil, err
	}
	return u, nil
}

// CheckPort refuses a port that nothing can be reached at. None is fine: the scheme
// has its own.
func CheckPort(u *url.URL) error {
	port := u.Port()
	if port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("expected a port from 1 to 65535, got %s", port)
	}
	return nil
}

// HasPassword tells whether a URL holds a password, as part of its user or as a
// parameter.
func HasPassword(u *url.URL) bool {
	_, secret := u.User.Password()
	for name := range u.Query() {
		secret = secret || strings.Contains(strings.ToLower(name), "password")
	}
	return secret
}
