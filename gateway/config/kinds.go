package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kinds of providers, which are protocols. How each is spoken is in package gateway,
// behind its interface of the same name.
const (
	KindOpenAI    = "openai"
	KindAnthropic = "anthropic"
)

// protocol is what a configuration may say of a provider of one kind.
type protocol struct {
	name        string
	embeddings  bool     // it has /v1/embeddings
	meaningless []string // keys of optional that do nothing
}

// protocols are all kinds, the one of providers that name none first.
var protocols = []protocol{
	{name: KindOpenAI, embeddings: true},
	{name: KindAnthropic, meaningless: []string{"cache_salt", "stream_usage", "send_priority", "metrics"}},
}

// optional are the settings of providers that some kinds have no use for.
var optional = map[string]func(*Provider) bool{
	"cache_salt":    func(p *Provider) bool { return p.CacheSalt != nil },
	"stream_usage":  func(p *Provider) bool { return p.StreamUsage != nil },
	"send_priority": func(p *Provider) bool { return p.SendPriority },
	"metrics":       func(p *Provider) bool { return p.Watched() },
}

// Kinds are the names of all kinds of providers.
func Kinds() []string {
	names := make([]string, len(protocols))
	for i, p := range protocols {
		names[i] = p.name
	}
	return names
}

// Protocol is the provider's kind, never empty.
func (p Provider) Protocol() string { return cmp.Or(p.Kind, KindOpenAI) }

// Embeds tells whether the provider's kind has embeddings.
func (p Provider) Embeds() bool { return p.protocol().embeddings }

// protocol is nothing for a kind that there is not.
func (p Provider) protocol() protocol {
	if i := slices.Index(Kinds(), p.Protocol()); i >= 0 {
		return protocols[i]
	}
	return protocol{}
}

// engines are servers whose protocol is OpenAI's; people take kind for the name of
// the server.
var engines = []string{"vllm", "sglang", "trtllm", "tensorrt-llm", "llmctl", "ollama", "tgi", "llama.cpp", "lmstudio", "openai-compatible"}

func checkKindName(kind string) error {
	if slices.Contains(engines, strings.ToLower(kind)) {
		return fmt.Errorf("kind %q: expected the protocol, which is %s with such servers; metrics says whose metrics they have", kind, KindOpenAI)
	}
	return choice("kind", kind, Kinds()...)
}

func (p *Provider) checkKind() error {
	if err := checkKindName(p.Kind); err != nil {
		return at(err, "kind")
	}
	if err := checkVariable("key_env", p.KeyEnv); err != nil {
		return err
	}
	for _, key := range p.protocol().meaningless {
		if optional[key](p) {
			return at(fmt.Errorf("%s means nothing to kind %s: leave it out", key, p.Kind), key)
		}
	}
	return nil
}
