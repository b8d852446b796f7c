package handover

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scaledObject is KEDA's resource (keda.sh/v1alpha1, docs/concepts/scaling-deployments).
type scaledObject struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		Target   target    `yaml:"scaleTargetRef"`
		Min      int       `yaml:"minReplicaCount"`
		Max      int       `yaml:"maxReplicaCount"`
		Triggers []trigger `yaml:"triggers"`
	} `yaml:"spec"`
}

type metadata struct {
	Name string `yaml:"name"`
}

// target is what KEDA scales, a Deployment unless it says otherwise.
type target struct {
	APIVersion string `yaml:"apiVersion,omitempty"`
	Kind       string `yaml:"kind,omitempty"`
	Name       string `yaml:"name"`
}

// trigger is KEDA's Prometheus scaler. With AverageValue, the threshold is per
// replica and the query a sum over them: the replicas that it asks for are
// ⌈sum ÷ threshold⌉, and of several triggers the most.
type trigger struct {
	Type       string `yaml:"type"`
	MetricType string `yaml:"metricType"`
	Metadata   struct {
		Server    string `yaml:"serverAddress"`
		Query     string `yaml:"query"`
		Threshold string `yaml:"threshold"`
	} `yaml:"metadata"`
}

// prometheus is where KEDA finds it in the usual installation; to be edited.
const prometheus = "http://prometheus.monitoring.svc:9090"

// tellingUsage is the KV usage at the planned load from which it tells more
// requests from fewer; below, one long request moves it as much as many.
const tellingUsage = 0.2

// waiting is how many requests may wait at a replica: those that still start in
// time, and no fewer than wait at the planned load anyhow. Without a TTFT
// objective it is twice the latter, and at least one.
func (d Deployment) waiting() float64 {
	q := d.Plan.Scaling
	if d.Plan.Inputs.SLO.TTFT == 0 {
		return max(1, 2*q.Waiting)
	}
	return max(q.StartInTime, q.Waiting)
}

// least is the smallest fleet, and why: that of the quietest hour when the day is
// known, and two, so that the last one may fail or be restarted.
func (d Deployment) least() (int, string) {
	f := d.Plan.Fleet
	most := f.Replicas
	if most == 1 {
		return 1, "the plan has one replica, and none while it restarts; --spare 1 plans two"
	}
	if day := d.Plan.Day; day != nil {
		quiet := day.Hours[0]
		for _, h := range day.Hours {
			if h.Replicas < quiet.Replicas {
				quiet = h
			}
		}
		if quiet.Replicas >= 2 {
			return quiet.Replicas, fmt.Sprintf("what hour %d of the load profile needs, the quietest, %s requests/s", quiet.Hour, number(quiet.RPS))
		}
	}
	least := min(most, max(2, f.Spare+1))
	return least, "one may fail or restart while another serves; a --load-profile gives the quietest hour's"
}

// largest is the largest fleet, and why.
func (d Deployment) largest() (int, string) {
	f, in := d.Plan.Fleet, d.Plan.Inputs
	if in.Count > 0 {
		return f.Replicas, fmt.Sprintf("all of the %d accelerators at hand", in.Count)
	}
	return 2 * f.Replicas, "twice the plan, for twice the planned load; what you may spend is for you to say"
}

// autoscaler writes a KEDA ScaledObject. Each threshold is what the metric reads
// on average at the planned load, so that the planned fleet is where it rests.
func (d Deployment) autoscaler() (string, error) {
	m, err := d.metrics()
	if err != nil {
		return "", err
	}
	q, name := d.Plan.Scaling, kubernetesName(d.Model.Name)
	object := scaledObject{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Metadata: metadata{name}}
	object.Spec.Target = target{Name: name}
	notes := []string{
		"KEDA scales on what waits and what runs: GPU utilization stays modest while the queue grows. It asks for ⌈sum over replicas ÷ threshold⌉ replicas, the most of its triggers. " +
			fmt.Sprintf("Thresholds are what a replica reads on average at %s requests/s, up to which the plan loads its %d.", number(q.RPS), d.Plan.Fleet.Replicas),
		"Edit the name of the deployment and the address of Prometheus.",
	}
	if nodes := d.nodes(); nodes > 1 {
		object.Spec.Target = target{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name}
		notes = append(notes, fmt.Sprintf("A replica spans %d nodes: what scales is a LeaderWorkerSet of groups of %d.", nodes, nodes))
	}
	var least, largest string
	object.Spec.Min, least = d.least()
	object.Spec.Max, largest = d.largest()
	notes = append(notes,
		fmt.Sprintf("minReplicaCount %d: %s.", object.Spec.Min, least),
		fmt.Sprintf("maxReplicaCount %d: %s.", object.Spec.Max, largest))
	add := func(metric string, threshold float64, why string) {
		object.Spec.Triggers = append(object.Spec.Triggers, perReplica(d.of(metric), number(threshold)))
		notes = append(notes, fmt.Sprintf("%s %s: %s.", metric, number(threshold), why))
	}
	add(m.waiting, d.waiting(), d.whyWaiting())
	add(m.running, q.Running, fmt.Sprintf("by Little's law %s requests/s × the time in the engine", number(q.RPS)))
	ranks := d.Plan.Inputs.DataParallel
	switch {
	case q.KVUsage < tellingUsage:
		notes = append(notes, fmt.Sprintf("%s is no trigger: at the planned load it is %s, too little to tell more requests from fewer.", m.kvUsage, number(q.KVUsage)))
	case ranks > 1:
		add(m.kvUsage, q.KVUsage*float64(ranks), fmt.Sprintf("%s on each of %d ranks at the planned load; it sees requests that are longer than planned", number(q.KVUsage), ranks))
	default:
		add(m.kvUsage, q.KVUsage, "the share of blocks in use at the planned load; it sees requests that are longer than planned")
	}
	return document(object, notes)
}

// whyWaiting words the threshold of waiting requests.
func (d Deployment) whyWaiting() string {
	q, slo := d.Plan.Scaling, d.Plan.Inputs.SLO
	switch {
	case slo.TTFT == 0:
		return fmt.Sprintf("twice the %s that wait at the planned load, at least 1; there is no TTFT objective to size it by", number(q.Waiting))
	case q.StartInTime < q.Waiting:
		return "what waits at the planned load; the TTFT objective leaves no more"
	}
	return fmt.Sprintf("the early trigger, what drains in time: the largest rate of %s/s × (%s s of TTFT objective − %s s of a lone request); %s wait at the planned load",
		number(d.Plan.Performance.MaxRPS), number(slo.TTFT), number(q.LoneTTFT), number(q.Waiting))
}

// perReplica averages over a minute, since requests come in bursts, and sums
// over replicas.
func perReplica(selector, threshold string) trigger {
	t := trigger{Type: "prometheus", MetricType: "AverageValue"}
	t.Metadata.Server, t.Metadata.Query, t.Metadata.Threshold = prometheus, "sum(avg_over_time("+selector+"[1m]))", threshold
	return t
}

// number writes three significant digits without an exponent.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	unit := math.Pow10(2 - int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(math.Round(v*unit)/unit, 'f', -1, 64)
}

// kubernetesName makes a name of lower-case letters, digits and dashes, at most
// 63 of them (RFC 1123 labels).
func kubernetesName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	clean = strings.Trim(clean[max(0, len(clean)-63):], "-")
	if clean == "" {
		return "llm"
	}
	return clean
}
