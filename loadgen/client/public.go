package client

// At is where an endpoint answers a path such as /v1/models: beside or below its
// base URL, with the query that the base URL has. It is for requests; what is
// shown is PublicEndpoint.
func At(base, path string) (string, error) {
	e, err := parseEndpoint(base)
	if err != nil {
		return "", err
	}
	return e.asked(e.root.String() + path), nil
}

// Redactor returns a function that hides keys, and what may be secret in an
// endpoint's URL, in texts.
func Redactor(base string, keys ...string) func(text string) string {
	target, err := parseEndpoint(base)
	if err != nil {
		target = endpoint{}
	}
	var hide []string
	for _, key := range keys {
		hide = append(hide, secrets(Options{APIKey: key}, target)...)
	}
	return func(text string) string { return redact(text, hide) }
}
