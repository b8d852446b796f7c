package segments

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextCountsAndSharesReadRight(t *testing.T) {
	for _, test := range []struct {
		name   string
		report Report
		want   string
	}{
		{"nothing", Report{}, "a: no requests yet\n"},
		{"one request", Report{Requests: 1, Tokens: 1}, "a: 1 request with 1 prompt token, of which an earlier prompt began with none\n"},
		{"two requests", Report{Requests: 2, Tokens: 9, RepeatedTokens: 3}, "a: 2 requests with 9 prompt tokens, of which an earlier prompt began with 33.3 %\n"},
		{"nearly all and nearly nothing", Report{Requests: 2, Tokens: 1_000_000, RepeatedTokens: 999_900}, "a: 2 requests with 1000000 prompt tokens, of which an earlier prompt began with > 99.9 %\n"},
		{"prompts of less than a token", Report{Requests: 2, Prefixes: []Prefix{{Segment: "messages[0]", Role: "user", Whole: true, Requests: 2, Share: 1, Traffic: 1, Tenants: 1}}},
			"a: 2 requests without a whole prompt token\n" +
				"  requests  share  tokens  of all tokens  tenants  pin  prefix up to\n" +
				"         2  100 %       0              -        1       messages[0] (user)\n"},
		{"one token behind a break", Report{Requests: 3, Tokens: 9, RepeatedTokens: 9, Breaks: []Break{{Segment: "tools", LooksAs: UUID, Share: 0.0001, SameAfter: 1, TokensAfter: 1}}},
			"a: 3 requests with 9 prompt tokens, of which an earlier prompt began with 100 %\n" +
				"broken in < 0.1 % of requests by a UUID at byte 0 of tools; 1 token of it follows, the same as before in 100 % of cases\n"},
		{"several tokens behind a break", Report{Requests: 3, Tokens: 9, Breaks: []Break{{Segment: "tools", LooksAs: Date, Share: 0.5, SameAfter: 0.25, TokensAfter: 7}}},
			"a: 3 requests with 9 prompt tokens, of which an earlier prompt began with none\n" +
				"broken in 50.0 % of requests by a date at byte 0 of tools; 7 tokens of it follow, the same as before in 25.0 % of cases\n"},
		{"no token behind a break", Report{Requests: 3, Tokens: 9, Breaks: []Break{{Segment: "tools", LooksAs: Date, Share: 0.5}}},
			"a: 3 requests with 9 prompt tokens, of which an earlier prompt began with none\n" +
				"broken in 50.0 % of requests by a date at byte 0 of tools\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.report.Alias = "a"
			var got strings.Builder
			if err := WriteText(&got, []Report{test.report}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
