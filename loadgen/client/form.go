package client

import "strings"

// form is what the body of a successful answer turned out to be. Servers send
// event streams under all kinds of types, and documents as event streams, so
// its first bytes decide.
type form int

const (
	undecided form = iota
	stream
	page // a document, HTML, or what else is no stream of events
)

// blank are the bytes that tell nothing of a form: white space, and the byte
// order mark.
const blank = " \t\r\n\xef\xbb\xbf"

// formOf is the form of a body that begins so. No line of an event stream begins
// with a bracket.
func formOf(p []byte) form {
	for _, c := range p {
		switch {
		case strings.IndexByte(blank, c) >= 0:
		case c == '{' || c == '[' || c == '<':
			return page
		default:
			return stream
		}
	}
	return undecided
}

// decide holds back the start of a body until its form shows, and returns what
// is to be read of it then.
func (x *exchange) decide(p []byte) (ready []byte) {
	if x.form = formOf(p); x.form == undecided && len(x.page)+len(p) > maxErrorBody {
		x.form = stream // of nothing
	}
	if len(x.page) == 0 && x.form != undecided {
		return p
	}
	if x.page = append(x.page, p...); x.form == undecided {
		return nil
	}
	ready, x.page = x.page, nil
	return ready
}
