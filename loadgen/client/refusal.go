package client

import (
	"bytes"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// optional are the members of a body that not every server knows, and that a
// request does without: a server that refuses one by name is asked again, and
// from then on, without it.
var optional = [...]struct {
	name    string
	aliases []string // what a refusal may call it
}{
	usageOption:    {"stream_options", []string{"include_usage", "continuous_usage_stats"}},
	ignoreEOSparam: {"ignore_eos", nil},
	minTokensParam: {"min_tokens", nil},
}

const (
	usageOption = iota
	ignoreEOSparam
	minTokensParam
)

// UsageRefused reports that the server does not know stream_options, so that
// bodies are better written without.
func (c *Client) UsageRefused() bool { return c.refusals.Load()&(1<<usageOption) != 0 }

// Refused are the names of the members of bodies that the server does not know,
// so that bodies are better written without.
func (c *Client) Refused() (names []string) {
	for i, o := range optional {
		if c.refusals.Load()&(1<<i) != 0 {
			names = append(names, o.name)
		}
	}
	return names
}

// learn notes what a refusal names of what the body holds. again reports that
// there is something the body can do without.
func (x *exchange) learn(page []byte) (again bool) {
	for i, o := range optional {
		named := bytes.Contains(page, []byte(o.name))
		for _, alias := range o.aliases {
			named = named || bytes.Contains(page, []byte(alias))
		}
		if named && gjson.GetBytes(x.body, o.name).Exists() {
			x.refusals.Or(1 << i)
			again = true
		}
	}
	return again
}

// known is a body without what the server has been seen to refuse.
func (x *exchange) known(body []byte) []byte {
	refused := x.refusals.Load()
	for i, o := range optional {
		if refused&(1<<i) == 0 {
			continue
		}
		if i != usageOption {
			x.request.Exact = false // it can not be asked for
		}
		if i == usageOption && x.request.WithoutUsage != nil {
			body, x.request.WithoutUsage = x.request.WithoutUsage(), nil
			continue
		}
		if shorter, err := sjson.DeleteBytes(body, o.name); err == nil {
			body = shorter
		}
	}
	return body
}
