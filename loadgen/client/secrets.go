package client

import (
	"encoding/base64"
	"net/url"
	"regexp"
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
		if len(s) >= minSecret {
			out = append(out, s)
		}
	}
	add(o.APIKey)
	if target.user != nil {
		password, _ := target.user.Password()
		add(password)
		add(url.QueryEscape(password))
		add(base64.StdEncoding.EncodeToString([]byte(target.user.Username() + ":" + password)))
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
	return out
}

// redact hides credentials, which servers like to repeat in their messages,
// also where a message was shortened in the middle of one.
func redact(s string, secrets []string) string {
	const hidden = "[API key]"
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, hidden)
		text, shortened := strings.CutSuffix(s, "…")
		for n := len(secret) - 1; shortened && n >= minSecret; n-- {
			if head, found := strings.CutSuffix(text, secret[:n]); found {
				s = head + hidden + "…"
				break
			}
		}
	}
	return s
}

// PublicURL is a URL as it may be shown: without a password or a query.
func PublicURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return redactURL(s)
	}
	u.RawQuery = ""
	return u.Redacted()
}
