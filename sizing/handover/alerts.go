package handover

import (
	"fmt"
	"math"
	"strconv"
)

// ruleFile is a file of Prometheus alerting rules.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func newRule(name, expr, duration, severity, summary, action string) rule {
	return rule{name, expr, duration, map[string]string{"severity": severity}, map[string]string{"summary": summary, "description": action}}
}

// fullKV is the KV usage from which a fluctuation of the batch preempts.
const fullKV = 0.9

// alerts writes Prometheus rules: the causes first (queue, cache, preemptions),
// then what users feel.
func (d Deployment) alerts() (string, error) {
	m, err := d.metrics()
	if err != nil {
		return "", err
	}
	group := ruleGroup{Name: "llm-" + kubernetesName(d.Model.Name)}
	group.Rules = append(group.Rules, d.causes(m)...)
	group.Rules = append(group.Rules, d.objectives(m)...)
	if m.errors != "" {
		group.Rules = append(group.Rules, d.failures(m))
	}
	return document(ruleFile{[]ruleGroup{group}}, []string{
		fmt.Sprintf("Prometheus rules for %s, with the bounds of the plan", d.Plan.Inputs.Engine),
	})
}

func (d Deployment) causes(m metricNames) []rule {
	waiting, limit := "sum("+d.of(m.waiting)+")", int(math.Ceil(d.waiting()*float64(d.Plan.Fleet.Replicas)))
	return []rule{
		newRule("LLMQueueGrowing", fmt.Sprintf("%s > %d and deriv(%s[10m:1m]) > 0", waiting, limit, waiting), "5m", "critical",
			fmt.Sprintf("more than %d requests wait, and more are coming", limit),
			"Add replicas or shed load: what waits now misses the TTFT objective."),
		newRule("LLMCacheNearlyFull", fmt.Sprintf("max(%s) > %g", d.of(m.kvUsage), fullKV), "5m", "warning",
			"a replica's KV cache is more than 90% full",
			"Add replicas or lower max_num_seqs or max_model_len before the engine preempts."),
		newRule("LLMPreemptionsRising", fmt.Sprintf("sum(rate(%s[5m])) > 0", d.of(m.preemptions)), "10m", "warning",
			"the engine preempts requests and computes them again",
			"Add replicas or tighten limits; faster accelerators do not help."),
	}
}

// objectives are the clauses of the SLO at its attainment.
func (d Deployment) objectives(m metricNames) []rule {
	var rules []rule
	slo := d.Plan.Inputs.SLO
	for _, c := range []struct {
		name, metric string
		bound        float64
	}{{"TTFT", m.ttft, slo.TTFT}, {"TPOT", m.tpot, slo.TPOT}, {"E2E", m.e2e, slo.E2E}} {
		if c.bound == 0 {
			continue
		}
		quantile, bound := strconv.FormatFloat(slo.Attainment, 'f', -1, 64), strconv.FormatFloat(c.bound, 'f', -1, 64)
		rules = append(rules, newRule("LLM"+c.name+"AboveObjective",
			fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(%s[5m]))) > %s", quantile, d.of(c.metric+"_bucket"), bound), "10m", "critical",
			fmt.Sprintf("%s p%g is above %s s", c.name, slo.Attainment*100, bound),
			"See LLMQueueGrowing and LLMCacheNearlyFull for the cause; histogram buckets make this approximate."))
	}
	return rules
}

// failures alerts when more fail than the objective leaves room for.
func (d Deployment) failures(m metricNames) rule {
	failed, all := d.of(m.errors), d.of(m.requests)
	if m.failed != "" {
		failed, all = m.errors+"{"+m.failed+"}", m.requests+"{"+m.all+"}"
	}
	share := strconv.FormatFloat(max(1e-4, 1-d.Plan.Inputs.SLO.Attainment), 'g', 3, 64)
	return newRule("LLMRequestsFail", fmt.Sprintf("sum(rate(%s[5m])) / sum(rate(%s[5m])) > %s", failed, all, share), "5m", "critical",
		"more requests fail than the objective allows", "Look at the engine's log: out of memory and lost ranks come first.")
}
