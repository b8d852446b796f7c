package conform

import (
	"context"
	"net/http"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// bodyCases are about the size of a request.
var bodyCases = []Case{
	{
		ID: "errors/large-body", Title: "a body of 3 MiB is taken", Level: Should, Suite: Engine,
		Why: "two pictures are as large", Issue: "mnfst#2126, aisix#853",
		Sends: "the plain chat with 3 MiB of white space between its members", Expect: "200",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.post(ctx, chatPath, padded(p.chat(members{"max_tokens": 1}), 3<<20))
			if err != nil {
				return "", err
			}
			if a.status != http.StatusOK {
				return "", wrong("%s", a.said())
			}
			return "200", nil
		},
	},
	{
		ID: "errors/too-large", Title: "a body of 40 MiB is refused with 413", Level: Should, Suite: Engine,
		Why: "without a bound some clients fill the memory of all; a 413 in HTML tells SDKs nothing", Issue: "cc-router#41",
		Sends: "the plain chat with 40 MiB of white space between its members, and Expect: 100-continue", Expect: "413 with an error in JSON",
		try: func(ctx context.Context, p *probe) (string, error) {
			if p.o.MaxBody >= tooLargeSize {
				return "", skipped("the endpoint documents a limit of %s", units.Bytes(p.o.MaxBody))
			}
			a, err := p.ask(ctx, request{
				method: http.MethodPost, path: chatPath, body: []byte(padded(p.chat(members{"max_tokens": 1}), tooLargeSize)),
				// A server that refuses by the length need not be sent the body.
				header: http.Header{"Expect": {"100-continue"}},
			})
			if err != nil {
				return "", wrong("the connection ended before an answer: %v", err)
			}
			return refusal(a, http.StatusRequestEntityTooLarge)
		},
	},
	{
		ID: "errors/pictures", Title: "a body of 12 MB is taken where that much is documented", Level: Must, Suite: Gateway,
		Why: "some photographs in base64 are as large, and a hop with a bound of its own cuts below the documented one", Issue: "mnfst#2126, cc-router#41",
		Sends: "the plain chat with 12 MB of white space between its members", Expect: "200; 413 only where no larger limit is documented (--max-body)",
		needs: whole, try: takesPictures,
	},
}

// The sizes that are tried. What clients call 12 MB is that many millions.
const (
	picturesSize = 12_000_000
	tooLargeSize = 40 << 20
)

func takesPictures(ctx context.Context, p *probe) (string, error) {
	if p.o.MaxBody > 0 && p.o.MaxBody < picturesSize+1<<10 {
		return "", skipped("the endpoint documents a limit of %s", units.Bytes(p.o.MaxBody))
	}
	a, err := p.post(ctx, chatPath, padded(p.chat(members{"max_tokens": 1}), picturesSize))
	if err != nil {
		return "", wrong("no answer: %v", err)
	}
	if _, err := refusal(a, http.StatusRequestEntityTooLarge); err == nil && p.o.MaxBody == 0 {
		return "", skipped("it was answered %s, and what is documented is not known (--max-body says it)", a.said())
	}
	if err := well(a, nil); err != nil {
		return "", err
	}
	return "200", nil
}

// padded is a JSON object with white space after its first brace.
func padded(object string, size int) string {
	return "{" + strings.Repeat(" ", size) + object[1:]
}
