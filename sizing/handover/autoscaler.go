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
		Target   metadata  `yaml:"scaleTargetRef"`
		Min      int       `yaml:"minReplicaCount"`
		Max      int       `yaml:"maxReplicaCount"`
		Triggers []trigger `yaml:"triggers"`
	} `yaml:"spec"`
}

type metadata struct {
	Name string `yaml:"name"`
}

// trigger is KEDA's Prometheus scaler. With AverageValue, the threshold is per
// replica and the query a sum over them.
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

// waiting is how many requests a replica can have in its queue and still start
// all of them in time: by Little's law its largest rate × the TTFT objective.
func (d Deployment) waiting() int {
	return max(1, int(d.Plan.Performance.MaxRPS*d.Plan.Inputs.SLO.TTFT))
}

// most is the number of replicas with which the planned load is met at the
// target utilization twice over: ⌈replicas ÷ target⌉.
func (d Deployment) most() int {
	return int(math.Ceil(float64(d.Plan.Fleet.Replicas)/d.Plan.Inputs.TargetUtilization - 1e-9))
}

// autoscaler writes a KEDA ScaledObject on queue depth and KV usage.
func (d Deployment) autoscaler() (string, error) {
	m, err := d.metrics()
	if err != nil {
		return "", err
	}
	in, name := d.Plan.Inputs, kubernetesName(d.Model.Name)
	object := scaledObject{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Metadata: metadata{name}}
	object.Spec.Target = metadata{name}
	object.Spec.Min, object.Spec.Max = 1, d.most()
	object.Spec.Triggers = []trigger{
		perReplica(d.of(m.waiting), strconv.Itoa(d.waiting())),
		perReplica(d.of(m.kvUsage), strconv.FormatFloat(in.TargetUtilization, 'f', -1, 64)),
	}
	notes := []string{
		"KEDA scales on waiting requests and KV usage: GPU utilization stays modest while the queue grows",
		fmt.Sprintf("waiting: %.3g requests/s, the largest rate of a replica, × %.3g s, the TTFT objective, start in time", d.Plan.Performance.MaxRPS, in.SLO.TTFT),
		fmt.Sprintf("KV usage: the target utilization of %.2f", in.TargetUtilization),
		fmt.Sprintf("at most ⌈%d replicas of the plan ÷ %.2f⌉; edit the name of the deployment and the address of Prometheus", d.Plan.Fleet.Replicas, in.TargetUtilization),
	}
	if in.SLO.TTFT == 0 {
		notes[1] = "waiting: there is no TTFT objective, so that any request that waits counts"
	}
	return document(object, notes)
}

func perReplica(selector, threshold string) trigger {
	t := trigger{Type: "prometheus", MetricType: "AverageValue"}
	t.Metadata.Server, t.Metadata.Query, t.Metadata.Threshold = prometheus, "sum("+selector+")", threshold
	return t
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
