package picker

import (
	"bytes"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	mode "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
)

// told adds to a response's header who answered, as Envoy's attributes say it.
func told(m *extproc.ProcessingRequest, details, address string, attempts float64) *extproc.ProcessingRequest {
	m.Attributes = map[string]*structpb.Struct{"envoy.filters.http.ext_proc": {Fields: map[string]*structpb.Value{
		"response.code_details": structpb.NewStringValue(details), "upstream.address": structpb.NewStringValue(address),
		"upstream.request_attempt_count": structpb.NewNumberValue(attempts),
	}}}
	return m
}

// An answer that Envoy made itself, or that another endpoint gave, is not the picked
// endpoint's.
func TestWhoAnsweredIsJudged(t *testing.T) {
	const here, there = "10.0.0.1:8000", "10.0.0.2:8000"
	served := responseHeaders(true, ":status", "500")
	served.MetadataContext = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"envoy.lb": {Fields: map[string]*structpb.Value{"x-gateway-destination-endpoint-served": structpb.NewStringValue(there)}},
	}}
	for _, test := range []struct {
		name   string
		header *extproc.ProcessingRequest
		want   fleet.State
	}{
		{"the endpoint, with an error", told(responseHeaders(true, ":status", "503"), "via_upstream", here, 1), fleet.Resting},
		{"the endpoint, for too many requests", told(responseHeaders(true, ":status", "429", "retry-after", "7"), "via_upstream", here, 1), fleet.Cooling},
		{"nobody: no connection", told(responseHeaders(true, ":status", "503"), "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}", here, 1), fleet.Resting},
		{"nobody: a connection that broke", told(responseHeaders(true, ":status", "503"), "upstream_reset_before_response_started{connection_termination}", here, 1), fleet.Resting},
		{"nobody in time", told(responseHeaders(true, ":status", "504"), "upstream_response_timeout", here, 1), fleet.Resting},
		{"Envoy, which has too many connections", told(responseHeaders(true, ":status", "503"), "upstream_reset_before_response_started{overflow}", here, 1), fleet.Up},
		{"Envoy, which has no route", told(responseHeaders(true, ":status", "503"), "route_not_found", "", 0), fleet.Up},
		{"another endpoint, with an error", told(responseHeaders(true, ":status", "503"), "via_upstream", there, 1), fleet.Up},
		{"another endpoint, for too many requests", told(responseHeaders(true, ":status", "429", "retry-after", "7"), "via_upstream", there, 1), fleet.Up},
		{"another endpoint, after the picked one", told(responseHeaders(true, ":status", "200"), "via_upstream", there, 2), fleet.Resting},
		{"the same endpoint at the second try", told(responseHeaders(true, ":status", "200"), "via_upstream", here, 2), fleet.Up},
		{"another endpoint, as the protocol says it", served, fleet.Up},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, func(p *config.Provider) { p.Endpoints, p.Breaker.MinRequests = p.Endpoints[:1], 1 })
			e := b.envoy(mode.ProcessingMode_NONE, mode.ProcessingMode_NONE)
			e.atHeader(requestHeaders(true))
			e.send(test.header)
			e.receive()
			e.finish()
			if got := b.pool.Status().Endpoints[0]; got.State != test.want || got.InFlight != 0 {
				t.Errorf("state %s with %d in flight, want %s", got.State, got.InFlight, test.want)
			}
		})
	}
}

// talk is a conversation without a server.
func talk(t *testing.T, body mode.ProcessingMode_BodySendMode, want func(Request) fleet.Want) *conversation {
	t.Helper()
	pool := newPool(t, plain)
	return &conversation{
		options: &Options{Pool: func() *fleet.Pool { return pool }, Want: want, MaxBody: 1 << 20},
		header:  map[string]string{}, requestBody: body, began: true,
	}
}

// A body that came in large parts goes back in parts that every data plane takes.
func TestLargeBodyGoesBackInSmallParts(t *testing.T) {
	for _, size := range []int{0, 1, partSize, partSize + 1, 3*partSize - 1, 3 * partSize} {
		c := talk(t, mode.ProcessingMode_FULL_DUPLEX_STREAMED, wanted)
		sent := bytes.Repeat([]byte("ab"), size/2+1)[:size]
		if out, err := c.answer(t.Context(), requestHeaders(false)); len(out) != 0 || err != nil {
			t.Fatalf("%v, %v", out, err)
		}
		out, err := c.answer(t.Context(), requestBody(string(sent), true))
		if err != nil {
			t.Fatal(err)
		}
		var back []byte
		for i, m := range out[1:] {
			part := m.GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse()
			if back = append(back, part.GetBody()...); len(part.GetBody()) > 62_000 || part.GetEndOfStream() != (i == len(out)-2) {
				t.Errorf("%d bytes: part %d of %d has %d bytes, end %v", size, i, len(out)-1, len(part.GetBody()), part.GetEndOfStream())
			}
		}
		if !bytes.Equal(back, sent) {
			t.Errorf("%d bytes came back as %d", size, len(back))
		}
		c.end(t.Context())
	}
}

// A route may name another model for the engine; nothing else in the body changes.
func TestModelIsRenamed(t *testing.T) {
	const asked = `{"x": [1,  2], "model": "small", "n":1}`
	for _, test := range []struct{ name, header, body, want string }{
		{"as the header says", "small-v2", asked, `{"x": [1,  2], "model": "small-v2", "n":1}`},
		{"not at all", "", asked, asked},
		{"not what has the name already", "small", asked, asked},
		{"into a body without one", "a", `{"n":1}`, `{"n":1,"model":"a"}`},
		{"not in what is cut off", "a", `{"model":"b","n":`, `{"model":"b","n":`},
		{"not in a list", "a", `[1]`, `[1]`},
		{"in the place of an escaped key's", "a", `{"m\u006fdel":"b"}`, `{"m\u006fdel":"a"}`},
		{"whatever was there", "a", `{"model":null}`, `{"model":"a"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, modes := range []mode.ProcessingMode_BodySendMode{mode.ProcessingMode_FULL_DUPLEX_STREAMED, mode.ProcessingMode_BUFFERED} {
				b := start(t, plain)
				e := b.envoy(modes, mode.ProcessingMode_NONE)
				e.send(requestHeaders(false, "x-gateway-model-name-rewrite", test.header))
				got := ""
				if modes == mode.ProcessingMode_BUFFERED {
					e.receive()
					e.send(requestBody(test.body, true))
					if mutation := e.receive().GetRequestBody().GetResponse().GetBodyMutation(); mutation != nil {
						got = string(mutation.GetBody())
					} else {
						got = test.body
					}
				} else {
					e.send(requestBody(test.body, true))
					e.receive()
					got = string(e.receive().GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse().GetBody())
				}
				if got != test.want {
					t.Errorf("%s: got %s, want %s", modes, got, test.want)
				}
				e.finish()
			}
		})
	}
}

// Of two keys that a reader may take for the model's, the client would choose which one
// the engine sees.
func TestBodiesInWhichReadersSeeOtherModelsAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"twice":           `{"model":"a","model":"b"}`,
		"twice, escaped":  `{"model":"a","m\u006fdel":"b"}`,
		"in another case": `{"Model":"a"}`,
		"in either":       `{"model":"a","MODEL":"b"}`,
	} {
		for _, header := range []string{"", "new"} {
			c := talk(t, mode.ProcessingMode_BUFFERED, func(Request) fleet.Want {
				t.Errorf("%s: picked for", name)
				return fleet.Want{}
			})
			if _, err := c.answer(t.Context(), requestHeaders(false, "x-gateway-model-name-rewrite", header)); err != nil {
				t.Fatal(err)
			}
			out, err := c.answer(t.Context(), requestBody(body, true))
			if err != nil || len(out) != 1 || out[0].GetImmediateResponse().GetStatus().GetCode() != 400 {
				t.Errorf("%s, header %q: %v, %v", name, header, out, err)
			}
			c.end(t.Context())
		}
	}
}

// The pick goes by the new name, since it is the engine's.
func TestRenamedModelIsTheOneThatIsPickedFor(t *testing.T) {
	var seen string
	c := talk(t, mode.ProcessingMode_BUFFERED, func(r Request) fleet.Want {
		seen = string(r.Body)
		return fleet.Want{}
	})
	for _, m := range []*extproc.ProcessingRequest{requestHeaders(false, "x-gateway-model-name-rewrite", "new"), requestBody(`{"model":"old"}`, true)} {
		if _, err := c.answer(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if seen != `{"model":"new"}` {
		t.Errorf("picked for %s", seen)
	}
	c.end(t.Context())
}
