package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/trial"
)

// key is what clients send; it guards nothing.
const key = "sk-benchmark-0123456789abcdef"

// model is what clients ask for: a name that a gateway with a catalogue of its own
// knows, too.
const model = "gpt-4o"

// front is something between a client and the mock.
type front struct {
	name    string
	program func(o *options) string // that must be installed; empty for none
	// start writes what the front needs into dir and returns its command, to
	// listen on address and pass on to upstream.
	start func(o *options, dir, address, upstream string) (command, env []string, err error)
	ready string // path that answers once it serves
	slow  bool   // it may not carry the rate of the open loop on two cores, and is measured at a lower one, too
}

var fronts = []front{
	{name: "direct", program: none},
	{name: "proxy", program: none, start: startProxy, ready: "/v1/models"},
	{name: "llmctl", program: func(o *options) string { return o.llmctl }, start: startLlmctl, ready: "/readyz"},
	{name: "litellm", program: func(o *options) string { return o.binaries["litellm"] }, start: startLiteLLM, ready: "/health/liveliness", slow: true},
	{name: "ferro", program: func(o *options) string { return o.binaries["ferro"] }, start: startFerro, ready: "/health"},
}

func none(*options) string { return "" }

func findFront(name string) *front {
	for i := range fronts {
		if fronts[i].name == name {
			return &fronts[i]
		}
	}
	return nil
}

func startProxy(_ *options, _, address, upstream string) (command, env []string, err error) {
	self, err := os.Executable()
	return []string{self, "proxy", address, upstream}, nil, err
}

// tenants is how many customers our gateway knows in the benchmark.
const tenants = 500

// startLlmctl configures the gateway with everything on: keys, limits, budgets,
// metering and a log line for each request.
func startLlmctl(o *options, dir, address, upstream string) (command, env []string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "listen: %s\nstore: {usage: 'sqlite:%s'}\ntenants:\n", address, filepath.Join(dir, "usage.db"))
	for i := range tenants {
		k := key
		if i > 0 {
			k = fmt.Sprintf("%s-%d", key, i)
		}
		fmt.Fprintf(&b, "  - {name: team-%d, keys: [{hash: '%s'}], limits: {rpm: 10M, input_tpm: 1G, output_tpm: 1G, concurrent: 100k, usd_per_day: 1000000}}\n", i, config.HashKey(k))
	}
	fmt.Fprintf(&b, "providers: [{name: mock, endpoints: ['%s']}]\n", upstream)
	fmt.Fprintf(&b, "models: [{alias: %s, max_tokens: {default: 512, cap: 4096}, targets: [{provider: mock, model: mock, usd_per_1m: {input: 0.4, output: 0.6}}]}]\n", model)
	path := filepath.Join(dir, "gateway.yaml")
	return []string{o.llmctl, "gateway", "--config", path}, nil, os.WriteFile(path, []byte(b.String()), 0o600)
}

func startLiteLLM(o *options, dir, address, upstream string) (command, env []string, err error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "litellm.yaml")
	text := fmt.Sprintf("model_list:\n  - model_name: %s\n    litellm_params: {model: openai/mock, api_base: '%s/v1', api_key: none}\ngeneral_settings: {master_key: %s}\n", model, upstream, key)
	return []string{o.binaries["litellm"], "--config", path, "--host", "127.0.0.1", "--port", port, "--num_workers", "2"},
		[]string{"LITELLM_LOG=ERROR", "LITELLM_LOCAL_MODEL_COST_MAP=True"}, os.WriteFile(path, []byte(text), 0o600)
}

func startFerro(o *options, dir, address, upstream string) (command, env []string, err error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "ferro.yaml")
	text := "strategy: {mode: single}\ntargets: [{virtual_key: openai}]\n"
	return []string{o.binaries["ferro"], "serve"}, []string{
		"GATEWAY_CONFIG=" + path, "PORT=" + port, "OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + upstream + "/v1", "MASTER_KEY=" + key,
		"RATE_LIMIT_RPS=0", // else 20 a second from one address, whoever asks
	}, os.WriteFile(path, []byte(text), 0o600)
}

// process is a front that runs, or the mock itself.
type process struct {
	server *trial.Server // nil for the mock
	url    string
}

// run starts the front and waits until it answers.
func (f *front) run(ctx context.Context, o *options, dir, upstream string) (*process, error) {
	if f.start == nil {
		return &process{url: upstream}, nil
	}
	address, err := trial.FreeAddress()
	if err != nil {
		return nil, err
	}
	command, env, err := f.start(o, dir, address, upstream)
	if err != nil {
		return nil, fmt.Errorf("configuring %s: %w", f.name, err)
	}
	p := &process{url: "http://" + address}
	if p.server, err = trial.StartServer(ctx, command, env, dir, p.url+f.ready, false); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return p, nil
}

// used is what the front has taken so far.
func (p *process) used() trial.Used {
	if p.server == nil {
		return trial.Used{}
	}
	return p.server.Used()
}

func (p *process) stop() {
	if p.server != nil {
		p.server.Stop()
	}
}
