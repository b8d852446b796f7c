package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/reload"
	ledger "github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/iostreams"
)

// openTimeout is how long the store of usage may take to answer at the start.
const openTimeout = 15 * time.Second

// openLedger opens the store of usage that a configuration names.
func openLedger(s *iostreams.IO, c *config.Config, log *slog.Logger) (*ledger.Ledger, error) {
	spec, err := usageStore(c, s.Env)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	l, err := ledger.Open(ctx, spec, ledger.Options{Logger: log, Keep: time.Duration(c.Store.UsageKeep), Password: usagePassword(c, s.Env)})
	if err == nil {
		log.Info("keeping usage", "in", ledger.Place(spec))
	}
	return l, err
}

// closeLedger writes what still waits. What is lost, people have to know.
func closeLedger(l *ledger.Ledger, log *slog.Logger) {
	if err := l.Close(); err != nil {
		log.Error("closing the ledger", "cause", err.Error())
	}
}

// usageStore is where usage is kept: where the configuration says, else a file in
// the user's state folder (XDG Base Directory Specification).
func usageStore(c *config.Config, env func(string) string) (string, error) {
	if c.Store.Usage != "" {
		return c.Store.Usage, nil
	}
	dir := env("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the specification says to ignore others
		home := env("HOME")
		if home == "" {
			return "", usagef("neither XDG_STATE_HOME nor HOME says where usage is kept: set store.usage to sqlite:FILE, a postgres:// URL, or none")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return config.SQLitePrefix + filepath.Join(dir, "llmctl", "usage.db"), nil
}

func usagePassword(c *config.Config, env func(string) string) string {
	if c.Store.UsageKeyEnv == "" {
		return ""
	}
	return env(c.Store.UsageKeyEnv)
}

// usageFlags is everything that the command line of gateway usage says.
type usageFlags struct {
	path, by, from, to string
	where              map[string]string
	output             outputFlag
}

func newGatewayUsage(s *iostreams.IO) *cobra.Command {
	f := &usageFlags{}
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Sum up what a gateway has metered: tokens, cost and savings",
		Long: `Sum up what a gateway has metered, from the store that its configuration names; the
gateway may run meanwhile. Times are of UTC. docs/usage.md explains every number.

--by request lists requests one by one, as -o json or csv.`,
		Example: `  llmctl gateway usage --config gateway.yaml
  llmctl gateway usage --config gateway.yaml --by day,model --from 2026-01-01 -o csv
  llmctl gateway usage --config gateway.yaml --by key --where tenant=search`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.path, "config", "", "configuration of the gateway (YAML or JSON)")
	flags.StringVar(&f.by, "by", "tenant,alias", "what to sum up by: tenant, key, alias, provider, model, deployment, arm, class, day, hour, or request")
	flags.StringVar(&f.from, "from", "", "first day or hour, like 2026-01-31 or 2026-01-31T15:00Z (default the first of the month)")
	flags.StringVar(&f.to, "to", "", "the day or hour that does not count any more (default tomorrow)")
	flags.StringToStringVar(&f.where, "where", nil, "only count what has these values, like tenant=search,arm=canary")
	f.output.add(cmd, "csv")
	return cmd
}

func (f *usageFlags) run(s *iostreams.IO) (err error) {
	export, err := f.export()
	if err != nil {
		return usage(err)
	}
	if f.path == "" {
		return usagef("--config is missing, expected the file that the gateway runs with")
	}
	_, c, err := reload.Open(f.path, reload.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return usage(err)
	}
	spec, err := usageStore(c, s.Env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	r, err := ledger.OpenReader(ctx, spec, ledger.Options{Password: usagePassword(c, s.Env)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return f.write(context.Background(), s, export, r)
}

// export is what the flags ask for, in the words of the admin listener.
func (f *usageFlags) export() (ledger.Export, error) {
	values := url.Values{"by": {f.by}}
	for name, value := range map[string]string{"from": f.from, "to": f.to} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, value := range f.where {
		if slices.Contains([]string{"by", "from", "to", "format"}, name) {
			return ledger.Export{}, fmt.Errorf("--where: expected a dimension, and %s is none", name)
		}
		values.Set(name, value)
	}
	e, err := ledger.ParseExport(values, time.Now())
	e.CSV = f.output.format == "csv"
	if err == nil && e.Requests && !e.CSV && f.output.format != "json" {
		err = errors.New("--by request is for -o json or -o csv")
	}
	return e, err
}

func (f *usageFlags) write(ctx context.Context, s *iostreams.IO, e ledger.Export, r *ledger.Reader) error {
	if e.CSV || e.Requests {
		return e.Write(ctx, s.Out, r)
	}
	if f.output.table() {
		groups, err := r.Sums(ctx, e.Query)
		if err != nil {
			return err
		}
		return writeUsage(s.Out, e.By, groups)
	}
	var document bytes.Buffer
	if err := e.Write(ctx, &document, r); err != nil {
		return err
	}
	return f.output.write(s, json.RawMessage(document.Bytes()), nil)
}
