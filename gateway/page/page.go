package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"
)

// View is what the page shows.
type View struct {
	Now     time.Time
	Refresh int // seconds after which the page loads itself anew; 0 is never
	Version string
	Config  Config

	Totals    []Total
	Tenants   []Tenant
	Models    []Model
	Endpoints []Endpoint
	Queues    []Queue   // in which somebody waits
	Requests  []Request // the oldest of those that are being served
	Serving   int       // how many are
}

// Config is the configuration in use.
type Config struct {
	Source  string    // the file; empty when unknown
	Hash    string    // of its content, shortened
	Loaded  time.Time // zero when unknown
	Refused string    // why the file's newest content is not in use; empty when it is
	Restart []string  // keys that have changed and wait for a restart
}

// Total is one figure of the head of the page.
type Total struct {
	Name, Value string
	Bad         bool
}

// Tenant is a customer with its limits.
type Tenant struct {
	Name   string
	Keys   int
	Limits []Limit
}

// Limit is where a tenant stands with one resource.
type Limit struct {
	Key      string // that it is of; empty for the tenant as a whole
	Resource string
	Left     string // with its unit
	Limit    string
	Share    float64 // left, 0..1
	Known    bool    // false while nobody can tell what is left
}

// Model is an alias and what stands behind it.
type Model struct {
	Alias   string
	Targets []Target
}

// Target is a deployment.
type Target struct {
	Name     string // provider/model
	Role     string // stable, canary, fallback
	Share    string // of the traffic; empty for a fallback
	Requests int64  // since the start
	Errors   int64
	TTFT     string // mean
	TPOT     string
}

// Endpoint is a server of a provider.
type Endpoint struct {
	Provider, URL string
	State         string // up, cooling, resting, probing
	Full          bool   // takes no more for now
	InFlight      int64
	Waiting       string // in its own queue; empty when unknown
	KVUsage       string
	Age           string // of its metrics; empty when it has none
}

// Queue is where requests of a class wait for a provider's endpoints.
type Queue struct {
	Provider, Class string
	Waiting         int
}

// Request is one that is being served.
type Request struct {
	ID, Tenant, Alias, Deployment, Phase string
	Age                                  time.Duration
	Output                               int64
}

//go:embed page.html style.css
var files embed.FS

var functions = template.FuncMap{
	"style":   func() template.CSS { return template.CSS(mustRead("style.css")) }, //nolint:gosec // our own file
	"join":    strings.Join,
	"seconds": seconds,
	"percent": func(share float64) string { return strconv.FormatFloat(100*min(max(share, 0), 1), 'f', 0, 64) },
	"stamp":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
}

var page = template.Must(template.New("page.html").Funcs(functions).Parse(mustRead("page.html")))

// mustRead panics when a file is not embedded, which no build gets past its tests.
func mustRead(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// seconds writes a duration as people read it.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// Policy is the Content-Security-Policy to serve the page with: nothing but its
// own style.
const Policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Write renders the page.
func Write(w io.Writer, v View) error {
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("rendering the admin page: %w", err)
	}
	return nil
}
