package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/anthropic/anthropictest"
	"github.com/llmctl/llmctl/gateway/config"
)

// unspeakable are requests that a provider of Anthropic's shape has no words for.
var unspeakable = []struct{ name, path, body, code string }{
	{"two answers", "/v1/chat/completions", body(`,"n":2`), "unsupported_parameter"},
	{"log probabilities", "/v1/chat/completions", body(`,"logprobs":true`), "unsupported_parameter"},
	{"a bias", "/v1/chat/completions", body(`,"logit_bias":{"1":5}`), "unsupported_parameter"},
	{"functions", "/v1/chat/completions", body(`,"functions":[{"name":"f"}]`), "unsupported_parameter"},
	{"a tool of another type", "/v1/chat/completions", body(`,"tools":[{"type":"custom","custom":{"name":"f"}}]`), "unsupported_parameter"},
	{"sound", "/v1/chat/completions", body(`,"audio":{"voice":"a","format":"wav"}`), "unsupported_parameter"},
	{"a stop of white space", "/v1/chat/completions", body(`,"stop":"\n"`), "unsupported_parameter"},
	{"embeddings", "/v1/embeddings", `{"model":"small","input":"a"}`, "unsupported_endpoint"},
}

func asSecond(m *config.Model, t config.Target) { m.Targets = append(m.Targets, t) }

// noRetries lets an alias try once, and its retry budget nothing.
var noRetries = configure(func(c *config.Config) { c.Models[0].Retry = config.Retry{Attempts: 1, Budget: usd(0)} })

// Which of two targets is drawn is chance: a request that one of them has no words for
// goes to the other, as if there were no other, and costs no retry.
func TestTargetsWithoutWordsForARequestAreNotDrawn(t *testing.T) {
	for _, test := range unspeakable {
		t.Run(test.name, func(t *testing.T) {
			v := &anthropictest.Vendor{}
			s := serve(t, replies(200, plainReply), beside(t, v, asSecond), noRetries)
			for range 20 {
				if got := s.at(test.path, test.body); got.status != 200 || got.header.Get("X-Llmctl-Fallback") != "" {
					t.Fatalf("status %d, fallback %q: %s", got.status, got.header.Get("X-Llmctl-Fallback"), got.body)
				}
			}
			s.settled()
			line := gjson.Parse(s.logs.String())
			if line.Get("left_out").Str != "vendor/vendor-large:provider" || line.Get("attempts").Int() != 1 || len(v.Bodies()) > 0 {
				t.Errorf("log %s", line)
			}
		})
	}
}

// A request that fails at its target is not given to a fallback that has no words for
// it: the client hears of the failure, which passes, and not that its request is wrong.
func TestFallbacksWithoutWordsForARequestAreLeftOut(t *testing.T) {
	for _, test := range unspeakable {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, replies(502, "{}"), beside(t, &anthropictest.Vendor{}, asFallback))
			got := s.at(test.path, test.body)
			if got.status != 502 || gjson.Get(got.body, "error.type").Str != "upstream_error" || got.header.Get("X-Should-Retry") != "" {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if told := got.header.Get("X-Llmctl-Fallback") + got.header.Get("X-Llmctl-Deployment"); told != "cluster/real-model" {
				t.Errorf("told of %q", told)
			}
			s.settled()
		})
	}
}

// The fallback serves what the target has no words for, and the client is told why.
func TestTheClientIsToldWhichProviderHadNoWords(t *testing.T) {
	s := serve(t, replies(200, plainReply), beside(t, &anthropictest.Vendor{}, asFirst))
	if got := s.post(body(`,"n":2`)); got.status != 200 || got.header.Get("X-Llmctl-Fallback") != "cluster/real-model; reason=provider" {
		t.Errorf("status %d, fallback %q", got.status, got.header.Get("X-Llmctl-Fallback"))
	}
	s.settled()
}

// Only where no target is left the client is told what cannot be said.
func TestARequestThatNoProviderHasWordsForIsRefused(t *testing.T) {
	for _, test := range unspeakable {
		t.Run(test.name, func(t *testing.T) {
			s := vendorFront(t, &anthropictest.Vendor{})
			got := s.at(test.path, test.body)
			if got.status != 400 || gjson.Get(got.body, "error.code").Str != test.code || got.header.Get("X-Should-Retry") != "false" {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			s.settled()
			if line := gjson.Parse(s.logs.String()); line.Get("outcome").Str != "unroutable" || s.gateway.limits.Ledger().Reserved != 0 {
				t.Errorf("log %s", line)
			}
		})
	}
}

// speechless is a protocol whose words fail it once a request is planned.
type speechless struct {
	openAI
	asked *atomic.Int64
}

func (k speechless) encode(d *dialect, path string, body []byte) (string, []byte, *failure) {
	if k.asked.Add(1) > 1 {
		return messages{}.encode(&embeddings, path, body)
	}
	return path, body, nil
}

// A conversion that fails after all is no try: others serve the request, and where
// there is none, the client hears of the first failure.
func TestAConversionThatFailsLateIsNoTry(t *testing.T) {
	for _, test := range []struct {
		name     string
		status   int // of the target that has words
		place    func(*config.Model, config.Target)
		want     int
		attempts int64
		outcome  string
	}{
		{"a target", 200, asSecond, 200, 1, "ok"},
		{"the first one", 200, asFirst, 200, 1, "ok"},
		{"a spare", 500, asSecond, 502, 1, "upstream_error"},
		{"a fallback", 500, asFallback, 502, 1, "upstream_error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a request went to %s", r.URL) }))
			t.Cleanup(other.Close)
			s := serve(t, replies(test.status, plainReply), noRetries, configure(func(c *config.Config) {
				c.Providers = append(c.Providers, config.Provider{Name: "other", Kind: "anthropic", BaseURL: other.URL})
				test.place(&c.Models[0], config.Target{Provider: "other", Model: "other"})
			}))
			m := s.gateway.table.Load().models["small"]
			late := speechless{asked: &atomic.Int64{}}
			for _, list := range [][]*target{m.targets, m.fallbacks} {
				for _, one := range list {
					if one.provider.name == "other" {
						one.provider.kind, m.kinds["anthropic"] = late, late
					}
				}
			}
			got := s.post(plainBody)
			if got.status != test.want || strings.Contains(got.header.Get("X-Llmctl-Fallback"), "other/") {
				t.Errorf("status %d, fallback %q: %s", got.status, got.header.Get("X-Llmctl-Fallback"), got.body)
			}
			s.settled()
			line := gjson.Parse(s.logs.String())
			if line.Get("attempts").Int() != test.attempts || line.Get("outcome").Str != test.outcome {
				t.Errorf("log %s", line)
			}
			attempts := 0
			for l := range strings.Lines(s.metrics()) {
				if strings.HasPrefix(l, "llmctl_gateway_attempts_total{") && strings.HasSuffix(l, " 1\n") {
					attempts++
				}
			}
			if attempts != 1 {
				t.Errorf("%d attempts counted", attempts)
			}
		})
	}
}

// A target that had no room was sent nothing: that is no try, and no retry.
func TestATargetWithoutRoomUsesUpNoTry(t *testing.T) {
	handler, arrived, pass := gate()
	spare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sse(w, helloEvent, finishEvent, doneEvent)
	}))
	t.Cleanup(spare.Close)
	s := serve(t, handler, oneAtATime, noRetries, configure(func(c *config.Config) {
		c.Providers = append(c.Providers, config.Provider{Name: "spare", Endpoints: []string{spare.URL}})
		most := 1_000_000 // of two millions and one
		c.Models[0].Targets[0].Weight = &most
		asSecond(&c.Models[0], config.Target{Provider: "cluster", Model: "sibling", Weight: &most})
		asSecond(&c.Models[0], config.Target{Provider: "spare", Model: "other"})
	}))
	first := s.send(s.t.Context(), streamBody, "")
	wait(t, arrived, "the first request")
	if got := s.post(streamBody); got.status != 200 || got.header.Get("X-Llmctl-Deployment") != "spare/other" {
		t.Errorf("status %d from %q: %s", got.status, got.header.Get("X-Llmctl-Deployment"), got.body)
	}
	pass <- struct{}{}
	wait(t, first, "the first request")
	s.settled()
	if n := gjson.Get(s.logs.String(), "attempts").Int(); n != 2 {
		t.Errorf("%d attempts, want one at each provider", n)
	}
}
