package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
)

// target is a server that a bench can load.
type target struct {
	endpoint, apiKey, model string
	metrics                 []string // pages; none looks for one at the endpoint
	bundled                 bool
	device                  string
	child                   *stackChild // nil unless bundled
}

// died is closed when a target of our own has ended by itself; nil, which is
// never, for others.
func (t target) died() <-chan struct{} {
	if t.child == nil {
		return nil
	}
	return t.child.gone
}

// reaping is how long the end of a child may take to be known after its
// connections have broken.
const reaping = time.Second

// dead reports whether a target of our own has ended by itself. Where requests
// failed, in whichever way, its end may be known a moment later than theirs.
func (t target) dead(measured []*reports.Report) bool {
	if t.child == nil {
		return false
	}
	wait := time.Duration(0)
	for _, r := range measured {
		if r.Requests.Failed+r.Requests.Cut > 0 {
			wait = reaping
		}
	}
	select {
	case <-t.died():
		return true
	case <-time.After(wait):
		return false
	}
}

// unreachable says why a target that requests could not reach has ended a series of
// runs.
func (b *bench) unreachable(ctx context.Context, t target) error {
	if t.child != nil {
		return t.child.failed()
	}
	if _, err := probeAll(ctx, b.clientOptions(t)); err != nil {
		return hinted(exitFailed, err, "no request of the last run reached the target; with --save, --resume goes on once it is back")
	}
	return &failure{code: exitFailed, err: errors.New("no request of the last run reached the target")}
}

// errInterrupted ends a bench that was stopped before anything was sent.
var errInterrupted = &failure{code: exitInterrupted, err: errors.New("interrupted before anything was sent")}

// target finds or starts what is to be loaded. An interrupt ends the search.
func (b *bench) target(ctx context.Context, stop *stopper) (target, func(), error) {
	ctx, release := stop.cancels(ctx)
	defer release()
	t, closeTarget, err := b.findTarget(ctx)
	if err != nil && stop.used() {
		return t, nil, errInterrupted
	}
	return t, closeTarget, err
}

func (b *bench) findTarget(ctx context.Context) (target, func(), error) {
	if b.bundled() {
		child, err := startStack(ctx, b.stackArgs())
		if err != nil {
			return target{}, nil, err
		}
		r := child.ready
		return target{r.Endpoint, child.key, r.Model, []string{r.Metrics}, true, r.Device, child}, child.close, nil
	}
	t := target{endpoint: b.flags.endpoint, apiKey: b.io.Env("OPENAI_API_KEY"), metrics: b.flags.telemetry.pages}
	models, err := probeAll(ctx, b.clientOptions(t))
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		return t, nil, hinted(exitFailed, err, "set OPENAI_API_KEY to a key that the endpoint accepts")
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, client.ErrNotAPI):
		return t, nil, hinted(exitFailed, err, "is the server running, and is --endpoint its base URL?")
	case err != nil:
		return t, nil, usage(err)
	}
	if t.model, err = b.wireModel(models); err == nil {
		b.checkWindow(t.model, models)
	}
	return t, func() {}, err
}

// checkWindow warns of a workload that the model has no room for.
func (b *bench) checkWindow(name string, models []client.Model) {
	w := b.scenario.Workload
	need := int(w.Longest())
	for _, m := range models {
		if m.ID == name && m.MaxModelLen > 0 && need > m.MaxModelLen {
			b.warn("window", "requests of the workload reach %s tokens and the server's window is %s: it will refuse some; set --isl and --osl, or --workload",
				units.Count(int64(need)), units.Count(int64(m.MaxModelLen)))
		}
	}
}

// wireModel is the name to ask the endpoint for.
func (b *bench) wireModel(listed []client.Model) (string, error) {
	if b.flags.served != "" {
		return b.flags.served, nil
	}
	ref := b.scenario.Model
	if ref == "" {
		name, err := client.OnlyModel(listed)
		if err != nil {
			return "", hinted(exitUsage, err, "name one with --model")
		}
		return name, nil
	}
	models := make([]string, len(listed))
	for i, m := range listed {
		models[i] = m.ID
	}
	if len(models) == 0 || slices.Contains(models, ref) {
		return ref, nil
	}
	if m, err := profiles.LoadModel(ref); err == nil {
		for _, id := range m.IDs {
			if slices.Contains(models, id) {
				return id, nil
			}
		}
		if len(models) == 1 {
			return models[0], nil
		}
	}
	b.warn("model_not_listed", "the endpoint does not list the model %q%s", ref, profiles.DidYouMean(ref, models))
	return ref, nil
}

// stackArgs are the settings of the bundled engine as the child takes them. One
// processor stays with the client.
func (b *bench) stackArgs() []string {
	return append(b.flags.engine.args(),
		"--model="+b.scenario.Model, fmt.Sprintf("--workers=%d", max(1, runtime.GOMAXPROCS(0)-1)))
}
