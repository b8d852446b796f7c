package main

import (
	"errors"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// clusterSettings are the flags of what stands around an engine.
var clusterSettings = []setting{
	{flag: "replicas", help: "replicas of the model (default: as many as size plans for the load, or 1 in a closed loop)", apply: applyReplicas},
	{flag: "pools", help: "replicas by role or by accelerator, in the place of --replicas: prefill=2,decode=4 or h100-sxm-80gb=2,l40s-48gb=4", apply: applyPools},
	{flag: "router", help: "policy that picks a replica: least_loaded, round_robin, prefix_affinity or prefix_affinity:load_cap=1.5 (default least_loaded)",
		names: func() []string { return profiles.RouterPolicies },
		apply: func(sc *profiles.Scenario, v string) error { return sc.Cluster.Router.Set(v) }},
	{flag: "limits", help: "limits of each tenant, e.g. rpm=600,input_tpm=200k,output_tpm=60k,concurrent=50, or off",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Cluster.Gateway.Limits, err = profiles.ParseLimits(v)
			return err
		}},
	{flag: "gateway", help: "requests at a replica beyond which others wait, how many may, and the wait for a first token, e.g. in_flight=64,max_queue=1000,timeout=20s",
		apply: func(sc *profiles.Scenario, v string) error { return sc.Cluster.Gateway.Set(v) }},
	{flag: "retry", help: "try what failed before its first token again, e.g. attempts=3,budget=0.1,backoff=100ms, or off",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Cluster.Gateway.Retry, err = profiles.ParseRetry(v)
			return err
		}},
	{flag: "fallback", help: "provider that answers what the replicas do not, e.g. ttft=800ms,tpot=20ms,usd_per_1m_output=0.6, or off",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Cluster.Gateway.Fallback, err = profiles.ParseFallback(v)
			return err
		}},
	{flag: "link", help: "what carries caches between prefill and decode replicas, e.g. bandwidth=50GB/s,latency=10us (default: the accelerator's network)",
		apply: func(sc *profiles.Scenario, v string) (err error) {
			sc.Cluster.Link, err = profiles.ParseLink(v)
			return err
		}},
	{flag: "autoscale", help: "change the number of replicas with queue_depth, kv_usage or utilization, e.g. queue_depth:target=4,min=1,max=8, or off",
		names: func() []string { return profiles.AutoscaleMetrics },
		apply: func(sc *profiles.Scenario, v string) error { return sc.Cluster.Autoscale.Set(v) }},
	{flag: "failure", help: "what goes wrong, e.g. crash:replica=0,at=60s,for=30s, slow:replica=1,factor=3 or outage:target=fallback,at=2m, or off; repeatable", repeatable: true,
		apply: func(sc *profiles.Scenario, v string) error {
			if strings.TrimSpace(v) == "off" {
				sc.Cluster.Failures = nil // of the file, and of what was said before
				return nil
			}
			failure, err := profiles.ParseFailure(v)
			sc.Cluster.Failures = append(sc.Cluster.Failures, failure)
			return err
		}},
}

// checkFleet refuses flags that both say what replicas there are.
func checkFleet(get func(string) string) error {
	if get("replicas") != "" && get("pools") != "" {
		return errors.New("--replicas and --pools both say what replicas there are; give one of them")
	}
	return nil
}

// applyReplicas takes the place of a file's pools, and of what lies between them.
func applyReplicas(sc *profiles.Scenario, v string) error {
	if err := parsePositive(v, &sc.Cluster.Replicas); err != nil {
		return err
	}
	sc.Cluster.Pools, sc.Cluster.Link = nil, profiles.Link{}
	return nil
}

// applyPools takes the place of a file's number of replicas.
func applyPools(sc *profiles.Scenario, v string) (err error) {
	sc.Cluster.Pools, err = profiles.ParsePools(v)
	sc.Cluster.Replicas = 0
	return err
}
