package gateway

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"
)

// published are the labels of every metric that the page of a gateway can have, by
// name: buckets, sums and counts of histograms among them.
func published(t *testing.T, g *Gateway) map[string][]string {
	t.Helper()
	form := regexp.MustCompile(`^Desc\{fqName: "([^"]+)".* variableLabels: \{(.*)\}\}$`)
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		g.metrics.registry.Describe(descs)
	}()
	all := map[string][]string{}
	for d := range descs {
		found := form.FindStringSubmatch(d.String())
		if found == nil {
			t.Fatalf("a description in another form: %s", d)
		}
		labels := slices.DeleteFunc(strings.Split(found[2], ","), func(l string) bool { return l == "" })
		all[found[1]] = labels
		if strings.HasSuffix(found[1], "_seconds") || found[1] == "gen_ai_client_token_usage" {
			all[found[1]+"_bucket"] = append(slices.Clone(labels), "le")
			all[found[1]+"_sum"], all[found[1]+"_count"] = labels, labels
		}
	}
	all["up"] = nil // Prometheus' own
	return all
}

// scraped are the labels that a scrape adds.
var scraped = []string{"job", "instance"}

// promQL are the functions that expressions use. The parser takes a language that
// has more.
var promQL = []string{"rate", "increase", "histogram_quantile", "sum", "max", "min", "count", "topk"}

// checkExpression parses a PromQL expression and looks up what it names.
func checkExpression(t *testing.T, text string, metrics map[string][]string, docs string) {
	t.Helper()
	if len(text) < 2 {
		t.Errorf("no expression: %q", text)
		return
	}
	expr, err := metricsql.Parse(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	metricsql.VisitAll(expr, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range e.LabelFilterss {
				checkSelector(t, text, filters, metrics, docs)
			}
		case *metricsql.AggrFuncExpr:
			if !slices.Contains(promQL, e.Name) || e.Limit != 0 {
				t.Errorf("%s: %s is no aggregation of PromQL", text, e.Name)
			}
			for _, label := range e.Modifier.Args {
				for name, labels := range selected(e) {
					if !slices.Contains(slices.Concat(metrics[name], scraped), label) {
						t.Errorf("%s: %s has no label %s, but %v", text, name, label, labels)
					}
				}
			}
		case *metricsql.FuncExpr:
			if !slices.Contains(promQL, e.Name) {
				t.Errorf("%s: %s is no function of PromQL", text, e.Name)
			}
			if e.Name == "rate" || e.Name == "increase" {
				if r, ok := e.Args[0].(*metricsql.RollupExpr); !ok || r.Window == nil {
					t.Errorf("%s: %s needs a range", text, e.Name)
				}
			}
		}
	})
}

// selected are the metrics that an expression selects, and the labels it filters by.
func selected(e metricsql.Expr) map[string][]string {
	names := map[string][]string{}
	metricsql.VisitAll(e, func(e metricsql.Expr) {
		m, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		for _, filters := range m.LabelFilterss {
			for _, f := range filters {
				names[filters[0].Value] = append(names[filters[0].Value], f.Label)
			}
		}
	})
	return names
}

func checkSelector(t *testing.T, text string, filters []metricsql.LabelFilter, metrics map[string][]string, docs string) {
	t.Helper()
	name := filters[0].Value
	labels, ok := metrics[name]
	if !ok || filters[0].Label != "__name__" {
		t.Errorf("%s: the gateway has no metric %q", text, name)
		return
	}
	for _, f := range filters[1:] {
		if !slices.Contains(slices.Concat(labels, scraped), f.Label) {
			t.Errorf("%s: %s has no label %s, but %v", text, name, f.Label, labels)
		}
		if slices.Contains(scraped, f.Label) || f.Label == "le" || strings.HasPrefix(f.Value, "$") {
			continue
		}
		for value := range strings.SplitSeq(f.Value, "|") {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`).MatchString(docs) {
				t.Errorf("%s: the documents know no value %q of %s", text, value, f.Label)
			}
		}
	}
}

// dashboard is what the test reads of one of Grafana's.
type dashboard struct {
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []panel
}

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource struct{ UID string }
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct{ Expr, LegendFormat string }
}

// Every expression of the dashboard parses, and names metrics, labels and values
// that a gateway has.
func TestDashboardShowsWhatTheGatewayHas(t *testing.T) {
	s, _ := followed(t)
	metrics, docs := published(t, s.gateway), readDocs(t)+readFile(t, "../docs/caches.md")
	var d dashboard
	if err := json.Unmarshal([]byte(readFile(t, "../deploy/grafana/gateway.json")), &d); err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
		if query, ok := v.Query.(map[string]any); ok {
			call := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(query["query"].(string))
			if call == nil || !slices.Contains(metrics[call[1]], call[2]) {
				t.Errorf("variable %s: %v", v.Name, query["query"])
			}
		}
	}
	for _, name := range []string{"datasource", "tenant", "alias"} {
		if !variables[name] {
			t.Errorf("no variable %s", name)
		}
	}
	expressions, ids := 0, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.Title == "" {
			t.Errorf("panel %d, %q, at %+v", p.ID, p.Title, p.GridPos)
		}
		ids[p.ID] = true
		if p.Type != "row" && (p.Datasource.UID != "${datasource}" || len(p.Targets) == 0) {
			t.Errorf("panel %q has the data source %q and %d expressions", p.Title, p.Datasource.UID, len(p.Targets))
		}
		for _, target := range p.Targets {
			expressions++
			for _, v := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !variables[v[1]] {
					t.Errorf("%s: no variable %s", target.Expr, v[1])
				}
			}
			checkExpression(t, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), metrics, docs)
			for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !regexp.MustCompile(`by \([^)]*\b`+label[1]+`\b`).MatchString(target.Expr) && !slices.Contains(scraped, label[1]) {
					t.Errorf("%s: the legend shows %s, which the expression drops", target.Expr, label[1])
				}
			}
		}
	}
	if expressions < 50 {
		t.Errorf("%d expressions found", expressions)
	}
}

// So does every alert, which says what to do about what.
func TestAlertsAskForWhatTheGatewayHas(t *testing.T) {
	s, _ := followed(t)
	metrics, docs := published(t, s.gateway), readDocs(t)
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../deploy/prometheus/gateway-rules.yml")), &rules); err != nil {
		t.Fatal(err)
	}
	if len(rules.Groups) == 0 || len(rules.Groups[0].Rules) < 8 {
		t.Fatal("alerts are missing")
	}
	for _, r := range rules.Groups[0].Rules {
		checkExpression(t, r.Expr, metrics, docs)
		if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("alert %q lacks something", r.Alert)
		}
		for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["summary"], -1) {
			if !regexp.MustCompile(`by \([^)]*\b`+label[1]+`\b`).MatchString(r.Expr) && label[1] != "instance" {
				t.Errorf("alert %s tells of %s, which its expression drops", r.Alert, label[1])
			}
		}
	}
}

// Prometheus finds the gateway's page, with the token, and the rules.
func TestScrapeConfigurationFindsTheGateway(t *testing.T) {
	var c struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string            `yaml:"job_name"`
			MetricsPath   string            `yaml:"metrics_path"`
			Authorization map[string]string `yaml:"authorization"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../deploy/prometheus/prometheus.yml")), &c); err != nil {
		t.Fatal(err)
	}
	for _, file := range c.RuleFiles {
		readFile(t, "../deploy/prometheus/"+file)
	}
	s := serve(t, mustNotBeCalled(t))
	job := c.ScrapeConfigs[0]
	if got := s.look(job.MetricsPath); got.status != 200 || !strings.Contains(got.body, "llmctl_gateway_") || job.Authorization["credentials_file"] == "" {
		t.Errorf("%+v: status %d", job, got.status)
	}
	if alerts := readFile(t, "../deploy/prometheus/gateway-rules.yml"); !strings.Contains(alerts, `up{job="`+job.JobName+`"}`) {
		t.Errorf("no alert knows the job %s", job.JobName)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
