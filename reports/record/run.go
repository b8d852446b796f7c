package record

import (
	"encoding/json"
	"time"
)

// Run is what is known about a run apart from its requests: what was asked, of
// whom, when, and what was seen on both sides. With the records it determines
// every number of a report.
type Run struct {
	Kind         string          // what produced the records: "bench", "simulate"
	ID           string          // unique name of the run
	Scenario     json.RawMessage // the resolved scenario, as JSON
	Target       Target
	Environment  Environment
	Window       Window
	SLO          []SLO
	SLODefault   bool // the user gave no SLO: report it, but do not judge by it
	Cost         Cost
	Client       Client
	Server       []ServerSample // in order of time within a page; empty when the target has none
	GPUs         []GPUSeries    // of this machine, when they were asked
	Spent        []Spent        // one per simulated replica; empty where nothing was simulated
	Gateway      *Gateway       // of a simulated cluster; nil without one
	Interrupted  bool           // ended by the user
	Warnings     []Warning      // found by whoever made the run; the summary adds its own
	ClosedLoop   bool
	SharedPrefix bool // the workload shares prefixes on purpose

	// Shard i of Shards, from 0, sent its part of a workload that several
	// machines send together; Shards 0 is a run of one machine. Records of
	// different shards have different ids.
	Shard, Shards int
	// StartAt is the wall clock that the shards agreed to start at, zero when
	// nobody asked for one.
	StartAt time.Time

	// Setup is what shaped the requests beside the scenario: seed, dialect, length
	// and the like, in words. Only runs that agree on it can be put together.
	Setup string
	// Requests is how many were asked for; 0 when something else bounded the run.
	Requests int
	// AskedRPS is the rate of requests that was asked for, per second; 0 when the
	// load has none that lasts.
	AskedRPS float64

	// Asked says in one line what was asked for: workload, rate, lengths. It is
	// for people; nothing is computed from it.
	Asked string
	// Defaults are what nobody asked for and yet shaped the run.
	Defaults []Default
	// MaxFailures is the share of failed requests (0..1) above which the run is
	// not trustworthy; 0 means the default, 0.01. A negative value means that
	// none may fail.
	MaxFailures float64
	// Asserts are the conditions that the user asked for, as typed; package
	// reports owns their grammar.
	Asserts []string
	// Records is the number of records that were saved; absent while the run
	// has not finished. Dir.WriteRun fills it in.
	Records Count
}

// Default is a value that was filled in, and the flag that changes it.
type Default struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Flag  string `json:"flag"`
}

// Target is what was measured.
type Target struct {
	Endpoint  string   `json:"endpoint,omitempty"`  // base URL, without credentials; the first of several
	Endpoints []string `json:"endpoints,omitempty"` // all of them, when there are several
	Model     string   `json:"model,omitempty"`     // on the wire
	Bundled   bool     `json:"bundled,omitempty"`   // the reference stack that ships with llmctl
	Device    string   `json:"device,omitempty"`    // device of the bundled engine
	Cluster   []Pool   `json:"cluster,omitempty"`   // what was simulated
}

// Pool is a number of equal replicas of a simulated cluster.
type Pool struct {
	Name         string     `json:"name,omitempty"`
	Role         string     `json:"role,omitempty"` // prefill, decode; empty is both
	Replicas     int        `json:"replicas"`       // at the start
	Accelerators int        `json:"accelerators"`   // of one replica
	Accelerator  string     `json:"accelerator"`
	Engine       string     `json:"engine,omitempty"`
	Steps        *StepTimes `json:"steps,omitempty"`
}

// StepTimes is what the times of a replica's steps rest on.
type StepTimes struct {
	Source string `json:"source"`
	// Error is the median distance from measured times per token that took no part
	// in the fit; 0 is unknown.
	Error float64 `json:"error,omitempty"`
}

// Environment is where the client ran.
type Environment struct {
	Version string    `json:"version,omitempty"`
	Host    string    `json:"host,omitempty"`
	OS      string    `json:"os,omitempty"`
	CPU     string    `json:"cpu,omitempty"`
	Cores   int       `json:"cores,omitempty"`
	GPUs    []string  `json:"gpu,omitempty"`
	Start   time.Time `json:"start,omitzero"` // wall clock at the start of the run, a label only
}

// Window bounds the measurement, since the start of the run. Warm-up ends at
// Start, sending ends at End.
type Window struct {
	Start time.Duration
	End   time.Duration
}

// SLO is one objective on single requests; a zero bound does not apply.
type SLO struct {
	Class                 string
	TTFT, TPOT, E2E, TTFO time.Duration
	Attainment            float64
}

// Cost is the price of the target's hardware; USDPerHour 0 means unknown.
type Cost struct {
	USDPerHour float64
	Source     string
}

// Client is how the measuring process itself fared over the window.
type Client struct {
	CPUFraction float64 // of the cores it may use; negative when unknown
	GCPauseP99  time.Duration
	MaxLag      time.Duration // limit on lag p99; 0 means the default rule

	SchedLatencyP99 Moment // that a goroutine which could run waited for a thread
	PeakRSSBytes    Count  // largest resident set since the process started
	PeakHeapBytes   Count  // largest heap of live and not yet freed objects seen
	PeakGoroutines  Count
	// CPUSteal is the share of the machine's processor time that a hypervisor
	// gave to others; nil when the system does not say.
	CPUSteal *float64
}

// Warning is something a reader must know before believing the numbers.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Aborted is the code of the warning that says why the load generator broke a run
// off: its numbers are not those of the run that was asked for.
const Aborted = "aborted"

// Codes of warnings about the files of a saved run.
const (
	Unfinished       = "unfinished"        // the process was killed before its report was written
	RecordsTruncated = "records_truncated" // the file ends in the middle of a record
	RecordsMissing   = "records_missing"   // fewer records than the run had
	RecordsRepeated  = "records_repeated"  // several records of one request
	RecordsDamaged   = "records_damaged"   // records that can not be read or can not be right
)

// Damage reports whether the warning says that the records that were read are
// not those of the run.
func (w Warning) Damage() bool {
	switch w.Code {
	case RecordsTruncated, RecordsMissing, RecordsRepeated, RecordsDamaged:
		return true
	}
	return false
}
