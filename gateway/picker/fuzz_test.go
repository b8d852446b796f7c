package picker

import (
	"context"
	"testing"

	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/protobuf/proto"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
)

// Whatever messages come, in whatever order, nothing panics, and at the end no place
// is held.
func FuzzConversation(f *testing.F) {
	for _, messages := range [][]*extproc.ProcessingRequest{
		{requestHeaders(true, ":path", "/")},
		{requestHeaders(true), requestHeaders(true)},
		{requestHeaders(false), requestBody("a", false), requestBody("b", true)},
		{responseBody("a", true), responseHeaders(false, ":status", "200"), requestBody("b", true)},
		{subsetted(requestHeaders(true), list("10.0.0.1"))},
	} {
		var stream []byte
		for _, m := range messages {
			raw, err := proto.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			stream = append(append(stream, byte(len(raw))), raw...)
		}
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		pool := newPool(t, func(*config.Provider) {})
		c := &conversation{options: &Options{Pool: func() *fleet.Pool { return pool }, Want: wanted, MaxBody: 100}, header: map[string]string{}}
		for len(stream) > 0 && !c.over {
			n := min(int(stream[0]), len(stream)-1)
			var m extproc.ProcessingRequest
			if proto.Unmarshal(stream[1:1+n], &m) == nil {
				if _, err := c.answer(t.Context(), &m); err != nil {
					break
				}
			}
			stream = stream[1+n:]
		}
		c.end(context.Background())
		for _, e := range pool.Status().Endpoints {
			if e.InFlight != 0 {
				t.Errorf("%d requests still hold %s", e.InFlight, e.URL)
			}
		}
	})
}
