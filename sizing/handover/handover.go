package handover

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/shell"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// Target is what a plan can be written as.
type Target string

// The targets. All asks for everything that fits the plan's engine.
const (
	VLLM       Target = "vllm"
	SGLang     Target = "sglang"
	Llmctl     Target = "llmctl"
	Autoscaler Target = "autoscaler"
	Alerts     Target = "alerts"
	All        Target = "all"
)

// Targets are the names of all targets.
var Targets = []string{"vllm", "sglang", "llmctl", "autoscaler", "alerts", "all"}

// ParseTarget reads the name of a target.
func ParseTarget(name string) (Target, error) {
	if slices.Contains(Targets, name) {
		return Target(name), nil
	}
	return "", fmt.Errorf("unknown target %q, expected one of %s%s", name, strings.Join(Targets, ", "), profiles.DidYouMean(name, Targets))
}

// width of the lines of commands and comments, in columns.
const width = 80

// A Deployment is a feasible plan and the model that it is for.
type Deployment struct {
	Plan  *sizing.Plan
	Model *profiles.Model
	Ref   string // what the user called the model
}

// Write returns one target, or for All the command of the plan's own engine, the
// autoscaler and the alerts. Commands are quoted for a POSIX shell.
func Write(d Deployment, target Target) (string, error) {
	if d.Plan.Performance == nil || d.Plan.Fleet == nil {
		return "", fmt.Errorf("a plan that is not feasible has nothing to hand over")
	}
	switch target {
	case VLLM:
		return d.command(vllm)
	case SGLang:
		return d.command(sglang)
	case Llmctl:
		return d.command(llmctl)
	case Autoscaler:
		return d.autoscaler()
	case Alerts:
		return d.alerts()
	}
	return d.all()
}

// all leaves out what is not known of the plan's engine.
func (d Deployment) all() (string, error) {
	targets := []Target{Autoscaler, Alerts}
	if engine, err := ParseTarget(d.engine()); err == nil {
		targets = slices.Insert(targets, 0, engine)
	}
	var parts []string
	for _, target := range targets {
		part, err := Write(d, target)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("# ---- %s ----\n%s", target, part))
	}
	return strings.Join(parts, "\n"), nil
}

// engine is the name of the plan's engine, without its version.
func (d Deployment) engine() string {
	name, _, _ := strings.Cut(d.Plan.Inputs.Engine, "@")
	return name
}

// command renders an engine's command with what to know about it in comments.
func (d Deployment) command(of func(d Deployment) (args, notes []string)) (string, error) {
	args, notes := of(d)
	f, in := d.Plan.Fleet, d.Plan.Inputs
	head := fmt.Sprintf("one of %d replicas, each of %d × %s", f.Replicas, f.Accelerators/f.Replicas, in.Accelerator)
	if f.Replicas == 1 {
		head = fmt.Sprintf("one replica of %d × %s", f.Accelerators, in.Accelerator)
	}
	return comments(slices.Concat([]string{head}, d.spread(), notes)) + shell.Wrap(args, width) + "\n", nil
}

// comments writes each note on lines of its own, further ones indented.
func comments(notes []string) string {
	var b strings.Builder
	for _, note := range notes {
		line := "#"
		for word := range strings.FieldsSeq(note) {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width && line != "#" {
				b.WriteString(line + "\n")
				line = "#  "
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// accelerators is how many a node has: one host of the accelerators' fast link.
const accelerators = 8

// nodes is how many nodes a replica spans.
func (d Deployment) nodes() int {
	in := d.Plan.Inputs
	return (in.TensorParallel*in.PipelineParallel*max(1, in.DataParallel) + accelerators - 1) / accelerators
}

// spread says what a replica over several nodes takes beside its command.
func (d Deployment) spread() []string {
	n := d.nodes()
	if n < 2 {
		return nil
	}
	return []string{fmt.Sprintf("a replica spans %d nodes of %d accelerators, taken to be the size of a server: join them by a fast network (InfiniBand or RoCE with GPUDirect), with tensor parallelism inside of each", n, accelerators)}
}

// document renders YAML under its notes.
func document(v any, notes []string) (string, error) {
	var b bytes.Buffer
	b.WriteString(comments(notes))
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(v); err != nil {
		return "", fmt.Errorf("writing YAML: %w", err)
	}
	return b.String(), nil
}
