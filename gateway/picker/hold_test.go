package picker

import (
	"strings"
	"testing"

	mode "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
)

// What Envoy sends of bodies counts until it has it back, and what has no room is
// refused at once.
func TestBodiesThatEnvoySendsCount(t *testing.T) {
	pool := newPool(t, func(*config.Provider) {})
	held, most := int64(0), int64(1000)
	c := &conversation{
		options: &Options{Pool: func() *fleet.Pool { return pool }, Want: wanted, MaxBody: 1000, Hold: func(_ Request, n int64) bool {
			held += n
			return held <= most
		}},
		header: map[string]string{}, began: true, requestBody: mode.ProcessingMode_FULL_DUPLEX_STREAMED,
	}
	part := strings.Repeat("x", 400)
	for _, m := range []int64{0, 400} {
		if held != m {
			t.Fatalf("%d bytes are held, want %d", held, m)
		}
		if out, err := c.answer(t.Context(), requestBody(part, false)); err != nil || len(out) > 0 {
			t.Fatalf("%v, error %v", out, err)
		}
	}
	most = 1000 - 200 // another one takes some
	out, err := c.answer(t.Context(), requestBody("y", false))
	if err != nil || len(out) != 1 || !c.over {
		t.Fatalf("%v, error %v", out, err)
	}
	said := out[0].GetImmediateResponse()
	if said.GetStatus().GetCode() != 503 || said.GetDetails() != "overloaded" {
		t.Errorf("the refusal is %v", said)
	}
	c.letGo()
	c.letGo()
	if held != 0 {
		t.Errorf("%d bytes are held in the end", held)
	}
}
