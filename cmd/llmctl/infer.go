package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/loadgen/infer"
	"github.com/llmctl/llmctl/loadgen/workload/trace"
	"github.com/llmctl/llmctl/reports/record"
)

// Bounds of a metrics page.
const (
	pageLimit   = 64 << 20
	pageTimeout = 10 * time.Second
)

// inferFlags are the flags of infer.
type inferFlags struct {
	over     time.Duration
	format   string
	sessions bool
}

func newInfer(s *iostreams.IO) *cobra.Command {
	f := &inferFlags{}
	cmd := &cobra.Command{
		Use:   "infer SOURCE",
		Short: "Make a scenario of a request log, a trace or a server's metrics page",
		Long: `Make a scenario of what was seen in production and print it as YAML: lengths,
shared prefix, rate by the hour, tenants, classes and models. Comments say what
each part rests on, and what could not be known.

SOURCE is a file, which may be compressed with gzip or zstd: the log of llmctl
gateway, any request log of one JSON object a line with counts of tokens, a trace
that bench replays, or a saved metrics page. Or it is the folder of a run that
bench --save kept, or the URL of the metrics page of vLLM, SGLang or llmctl, which
is read twice.`,
		Example: `  llmctl infer gateway.log > scenario.yaml
  llmctl infer requests.jsonl.gz --sessions > scenario.yaml
  llmctl infer runs/1 > scenario.yaml
  llmctl infer http://localhost:8000/metrics --over 60s > scenario.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.over <= 0 {
				return usagef("--over %s is no time to see requests in, expected more than 0", f.over)
			}
			result, err := f.infer(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return writeScenario(s.Out, args[0], result)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.over, "over", 10*time.Second, "time between the two readings of a URL")
	flags.StringVar(&f.format, "trace-format", "", "read the file as a trace: "+strings.Join(trace.Formats(), ", ")+" (default: told by the content)")
	flags.BoolVar(&f.sessions, "sessions", false, "make turns of the requests of a session, in the place of single requests with their whole prompts")
	return cmd
}

func (f *inferFlags) infer(ctx context.Context, s *iostreams.IO, source string) (*infer.Result, error) {
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		return f.fromURL(ctx, s, source)
	}
	if f.format != "" {
		return f.fromTrace(s, source)
	}
	if run, ok := runFolder(source); ok {
		return f.fromRun(s, run)
	}
	file, err := trace.Open(source)
	if err != nil {
		return nil, usagef("reading %s: %w", source, err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	in := bufio.NewReaderSize(file, 1<<16)
	head, _ := in.Peek(1 << 16) // fewer bytes are the whole file
	switch head = bytes.TrimLeft(head, "\ufeff \t\r\n"); {
	case len(head) == 0:
		return nil, usagef("reading %s: the file is empty", source)
	case infer.IsPage(head):
		page, err := infer.ParsePage(io.LimitReader(in, pageLimit), time.Time{})
		if err != nil {
			return nil, usagef("reading %s: %w", source, err)
		}
		return usable(infer.FromMetrics(page))
	case infer.IsLog(head):
		log := infer.NewLog(in, source)
		result, err := infer.FromRequests(log.All(), f.options())
		tell(s, log.Report())
		if log.Err() != nil {
			return nil, usagef("reading %s: %w", source, log.Err())
		}
		return usable(result, err)
	}
	return f.fromTrace(s, source)
}

// runFolder is the folder of a saved run that a path names: the folder, or one of
// the files of the run in it.
func runFolder(path string) (folder string, ok bool) {
	folder = path
	if name := filepath.Base(path); name == record.RunFile || name == record.RecordsFile {
		folder = filepath.Dir(path)
	}
	info, err := os.Stat(filepath.Join(folder, record.RunFile))
	return folder, err == nil && info.Mode().IsRegular()
}

func (f *inferFlags) fromRun(s *iostreams.IO, folder string) (*infer.Result, error) {
	run, saved, _, err := openRuns([]string{folder})
	if err != nil {
		return nil, usage(err)
	}
	if run.Shards > 1 {
		fmt.Fprintf(s.Err, "note: %s is shard %d of %d, and a rate that was measured is its part alone\n", folder, run.Shard+1, run.Shards)
	}
	result, err := infer.FromRun(run, saved.Records(), f.options())
	for _, w := range saved.Warnings() {
		fmt.Fprintf(s.Err, "warning: %s\n", w.Text)
	}
	if saved.Err() != nil {
		return nil, saved.Err()
	}
	return usable(result, err)
}

func (f *inferFlags) options() infer.Options { return infer.Options{Sessions: f.sessions} }

func (f *inferFlags) fromTrace(s *iostreams.IO, path string) (*infer.Result, error) {
	sessions, report, err := trace.Load(path, trace.Options{Format: f.format})
	if report != nil {
		tell(s, report)
	}
	if err != nil {
		return nil, usage(err)
	}
	return usable(infer.FromSessions(slices.Values(sessions), report.Timed, f.options()))
}

// usable marks what a source does not hold as a mistake of who named it.
func usable(r *infer.Result, err error) (*infer.Result, error) { return r, usage(err) }

// tell prints what was skipped and assumed of a file.
func tell(s *iostreams.IO, report *trace.Report) {
	for _, text := range report.Skipped() {
		fmt.Fprintf(s.Err, "warning: %s\n", record.Printable(text))
	}
	for _, text := range report.Notes {
		fmt.Fprintf(s.Err, "note: trace %s: %s\n", record.Printable(report.File), text)
	}
}

// fromURL reads a page twice, to see how fast requests come.
func (f *inferFlags) fromURL(ctx context.Context, s *iostreams.IO, address string) (*infer.Result, error) {
	first, err := readPage(ctx, address)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.Err, "reading %s again in %s\n", publicURL(address), f.over)
	select {
	case <-ctx.Done():
		return nil, silent(exitInterrupted)
	case <-time.After(f.over):
	}
	second, err := readPage(ctx, address)
	if err != nil {
		return nil, err
	}
	return infer.FromMetrics(first, second)
}

// publicURL is a URL without what may be secret in it.
func publicURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func readPage(ctx context.Context, address string) (infer.Page, error) {
	public := publicURL(address)
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return infer.Page{}, usagef("%s is no URL of a metrics page", public)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the rest has the URL, which may hold a password
		}
		return infer.Page{}, fmt.Errorf("reading %s: %w", public, err)
	}
	defer func() { _ = response.Body.Close() }()
	at := time.Now()
	if response.StatusCode != http.StatusOK {
		return infer.Page{}, fmt.Errorf("reading %s: status %d, expected a metrics page such as http://localhost:8000/metrics", public, response.StatusCode)
	}
	page, err := infer.ParsePage(io.LimitReader(response.Body, pageLimit), at)
	if err != nil {
		return page, fmt.Errorf("reading %s: %w", public, err)
	}
	return page, nil
}

// writeScenario prints a scenario under what it rests on.
func writeScenario(out io.Writer, source string, r *infer.Result) error {
	if strings.Contains(source, "://") {
		source = publicURL(source)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by llmctl infer of %s. What each part rests on:\n", record.Printable(source))
	for _, basis := range r.Basis {
		fmt.Fprintf(&b, "#   %s: %s\n", basis.Part, basis.Text)
	}
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(r.Scenario); err != nil {
		return fmt.Errorf("writing the scenario: %w", err)
	}
	_, err := out.Write(b.Bytes())
	return err
}
