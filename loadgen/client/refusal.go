package client

import (
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/llmctl/llmctl/reports/record"
)

// optional are the members of a body that not every server knows, and that a
// request does without: a server that refuses one by name is asked again, and
// from then on, without it.
var optional = [...]struct {
	name    string
	aliases []string // what a refusal may call it
}{
	usageOption:     {"stream_options", []string{"include_usage", "continuous_usage_stats"}},
	ignoreEOSOption: {"ignore_eos", nil},
	minTokensOption: {"min_tokens", nil},
}

const (
	usageOption = iota
	ignoreEOSOption
	minTokensOption
)

// UsageRefused reports that the server does not know stream_options, so that
// bodies are better written without.
func (c *Client) UsageRefused() bool { return c.lacks(usageOption) }

// ExactRefused reports that the server knows no way to be asked for exactly so
// many tokens, so that bodies are better written without.
func (c *Client) ExactRefused() bool { return c.lacks(ignoreEOSOption) || c.lacks(minTokensOption) }

func (c *Client) lacks(option int) bool { return c.refusals.Load()&(1<<option) != 0 }

// Warnings are what a reader of the run must know of the server's refusals.
func (c *Client) Warnings() (found []record.Warning) {
	if c.UsageRefused() {
		found = append(found, record.Warning{
			Code: "usage_refused",
			Text: "the server refuses stream_options.include_usage, so output tokens are counted in events",
		})
	}
	if c.ExactRefused() {
		found = append(found, record.Warning{
			Code: "exact_refused",
			Text: "the server refuses ignore_eos or min_tokens, so answers are as long as the model makes them, not as the workload says",
		})
	}
	return found
}

// learn notes what a refusal names of what the body holds, for this exchange.
// again reports that there is something the body can do without.
func (x *exchange) learn(page []byte) (again bool) {
	said := complaint(page)
	for i, o := range optional {
		named := strings.Contains(said, o.name)
		for _, alias := range o.aliases {
			named = named || strings.Contains(said, alias)
		}
		if named && gjson.GetBytes(x.body, o.name).Exists() {
			x.dropped |= 1 << i
			again = true
		}
	}
	return again
}

// confirm remembers what the server refused, for all later requests, now that it
// has taken the request without: a page may name what it does not mind.
func (x *exchange) confirm() {
	if x.dropped != 0 {
		x.refusals.Or(x.dropped)
	}
}

// known is a body without what the server has been seen to refuse.
func (x *exchange) known(body []byte) []byte {
	for i, o := range optional {
		if !x.lacks(i) && x.dropped&(1<<i) == 0 {
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
