package client

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretHeader matches the names of headers that hold credentials.
var secretHeader = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password`)

// minSecret is the length below which nothing is hidden: keys such as "x" and
// "none" are placeholders, and hiding them would tear words apart.
const minSecret = 5

// secrets are the credentials that a run sends: the API key, what the URL
// holds, and the values of headers that are named like one.
func secrets(o Options, target endpoint) (out []string) {
	add := func(s string) {
		if len(s) < minSecret {
			return
		}
		// As it is, and as messages carry it.
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s))} {
			if !slices.Contains(out, form) {
				out = append(out, form)
			}
		}
	}
	add(o.APIKey)
	if target.user != nil {
		password, _ := target.user.Password()
		add(password)
		add(target.user.Username() + ":" + password)
	}
	query, _ := url.ParseQuery(target.query) // what can not be read is sent as it is
	for name, values := range query {
		for _, value := range values {
			if secretHeader.MatchString(name) {
				add(value)
			}
		}
	}
	for name, values := range o.Headers {
		if !secretHeader.MatchString(name) {
			continue
		}
		for _, value := range values {
			add(value)
			if _, credentials, found := strings.Cut(value, " "); found { // after Bearer or Basic
				add(credentials)
			}
		}
	}
	// The longest first: one form may be a part of another.
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// redact hides credentials, which servers like to repeat in their messages,
// also where a message was shortened in the middle of one.
func redact(s string, secrets []string) string {
	const mask = "[API key]"
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, mask)
		text, shortened := strings.CutSuffix(s, "…")
		for n := len(secret) - 1; shortened && n >= minSecret; n-- {
			if head, found := strings.CutSuffix(text, secret[:n]); found {
				s = head + mask + "…"
				break
			}
		}
	}
	return s
}

// redacted is an error whose text shows no credentials.
func redacted(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	if text := redact(err.Error(), secrets); text != err.Error() {
		return &hidden{text, err}
	}
	return err
}

// hidden is an error with another text.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }

// PublicURL is a URL as it may be shown: without a password or a query.
func PublicURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return redactURL(s)
	}
	u.RawQuery = ""
	return u.Redacted()
}
