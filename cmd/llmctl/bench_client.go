package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/loadgen"
	"github.com/llmctl/llmctl/loadgen/client"
)

// clientFlags are the flags of bench about how requests travel: endpoints,
// protocol, certificates, attempts.
type clientFlags struct {
	endpoints     []string
	http          string
	insecure      bool
	ca, cert, key string
	connect       time.Duration
	retries       int
	event         string
	maxEvent      int         // in bytes, read by check
	tls           *tls.Config // read by check
}

func (f *clientFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.endpoints, "endpoint", nil, "base URL, with or without /v1; repeatable: sessions are dealt out in turn (default: OPENAI_BASE_URL, else the bundled stack)")
	flags.StringVar(&f.http, "http", string(client.HTTP1), "version of HTTP: 1.1, 2 (without TLS by prior knowledge) or auto (what TLS negotiates)")
	flags.BoolVar(&f.insecure, "insecure", false, "do not verify the certificates of endpoints")
	flags.StringVar(&f.ca, "ca-cert", "", "PEM file of the certificate authorities to trust in place of the system's")
	flags.StringVar(&f.cert, "cert", "", "PEM file of a client certificate")
	flags.StringVar(&f.key, "key", "", "PEM file of its key")
	flags.DurationVar(&f.connect, "timeout-connect", client.DefaultConnectTimeout, "longest attempt to connect")
	flags.StringVar(&f.event, "max-event", "", "largest event of a stream, e.g. 64MiB; a larger one fails its request (default: 32MiB)")
	flags.IntVar(&f.retries, "retries", 0, "further attempts of a request that could not connect or was answered 408, 429, 500, 502, 503 or 504; time runs from the first")
}

// first is the first endpoint, that of the environment when no flag names one,
// empty for the bundled stack.
func (f *clientFlags) first(environment string) string {
	if len(f.endpoints) == 0 && environment != "" {
		f.endpoints = []string{environment}
	}
	if len(f.endpoints) == 0 {
		return ""
	}
	return f.endpoints[0]
}

// check refuses what contradicts itself, and reads the certificates.
func (f *clientFlags) check(cmd *cobra.Command) error {
	if !slices.Contains([]string{"1.1", "2", "auto"}, f.http) {
		return fmt.Errorf("--http: unknown version %q, expected 1.1, 2 or auto", f.http)
	}
	if f.connect <= 0 {
		return fmt.Errorf("--timeout-connect %s leaves no time to connect", f.connect)
	}
	if f.retries < 0 || f.retries > 100 {
		return fmt.Errorf("--retries %d: expected 0 to 100", f.retries)
	}
	if f.event != "" {
		n, err := units.ParseBytes(f.event)
		if err != nil || n < 1 || n > 1<<30 {
			return fmt.Errorf("--max-event %q: expected a size up to 1GiB, e.g. 64MiB", f.event)
		}
		f.maxEvent = int(n)
	}
	if slices.Contains(f.endpoints, "") {
		return errors.New("--endpoint is empty, expected a URL like http://localhost:8000/v1")
	}
	return f.checkTLS(cmd)
}

func (f *clientFlags) checkTLS(cmd *cobra.Command) (err error) {
	https := slices.ContainsFunc(f.endpoints, func(e string) bool { return strings.HasPrefix(strings.TrimSpace(e), "https:") })
	for _, name := range []string{"insecure", "ca-cert", "cert", "key"} {
		if cmd.Flags().Changed(name) && !https {
			return fmt.Errorf("--%s has no effect here: no --endpoint is an https URL", name)
		}
	}
	if f.insecure && f.ca != "" {
		return errors.New("--insecure verifies nothing, --ca-cert says what to verify by; give one of them")
	}
	if (f.cert == "") != (f.key == "") {
		return errors.New("--cert and --key belong together; give both")
	}
	var ca, cert, key []byte
	for _, file := range []struct {
		path string
		to   *[]byte
	}{{f.ca, &ca}, {f.cert, &cert}, {f.key, &key}} {
		if file.path == "" {
			continue
		}
		if *file.to, err = userfile.Read(file.path, userfile.ConfigLimit); err != nil {
			return err
		}
	}
	if f.tls, err = client.NewTLS(f.insecure, ca, cert, key); err != nil {
		return fmt.Errorf("--ca-cert, --cert, --key: %w", err)
	}
	return nil
}

// options fills in what these flags say. The bundled stack has one endpoint.
func (f *clientFlags) options(o *client.Options) {
	if len(f.endpoints) > 1 {
		o.Others = f.endpoints[1:]
	}
	o.HTTP, o.TLS, o.ConnectTimeout, o.Retries, o.MaxEvent = client.HTTP(f.http), f.tls, f.connect, f.retries, f.maxEvent
}

// public are the endpoints as they may be kept, nil when there is only one.
func (f *clientFlags) public() (endpoints []string) {
	if len(f.endpoints) < 2 {
		return nil
	}
	for _, e := range f.endpoints {
		endpoints = append(endpoints, client.PublicEndpoint(e))
	}
	return endpoints
}

// probeAll checks every endpoint and returns the models that all of them list,
// those of the first when another lists none.
func probeAll(ctx context.Context, o client.Options) (common []client.Model, err error) {
	for i, endpoint := range o.Endpoints() {
		one := o
		one.Endpoint, one.Others = endpoint, nil
		models, err := client.Probe(ctx, one)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			common = models
			continue
		}
		if len(models) > 0 {
			common = slices.DeleteFunc(common, func(m client.Model) bool {
				return !slices.ContainsFunc(models, func(n client.Model) bool { return n.ID == m.ID })
			})
		}
	}
	return common, nil
}

// preflight compares the connections that the load needs with the limits of this
// machine, before anything is sent. A closed loop is sure to need its; of an
// open one it is a guess, which warns.
func (b *bench) preflight(t target) error {
	n, err := b.connections()
	if err != nil {
		return err
	}
	for _, p := range b.clientOptions(t).Preflight(n) {
		if b.scenario.Workload.Arrival.ClosedLoop() {
			return hinted(exitFailed, errors.New(p.Text), p.Hint)
		}
		b.warn("client_limits", "%s; %s", p.Text, p.Hint)
	}
	return nil
}

// connections is how many the largest load needs that is known: of a search, the
// one that it begins with.
func (b *bench) connections() (int, error) {
	largest := *b
	if loads := b.flags.curve.sweep.Loads; len(loads) > 0 {
		setLoad(&largest.scenario.Workload.Arrival, slices.Max(loads))
	}
	s, err := largest.stream(false, b.flags.phases.shard)
	if err != nil {
		return 0, err
	}
	return loadgen.Connections(s, b.flags.maxInFlight), nil
}
