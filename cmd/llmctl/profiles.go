package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

func newProfiles(s *iostreams.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "List what is built in: models, accelerators, workloads, engines",
		Long: `List what is built in. "show" prints one entry in the form in which it can be
edited and passed back as a file.`,
		Example: `  llmctl profiles models
  llmctl profiles accelerators show h100-sxm-80gb
  llmctl profiles models show llama-3.1-8b > my-model.json`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []catalogue{
		{"models", profiles.ModelNames, showModel, modelRow},
		{"accelerators", profiles.AcceleratorNames, shown(profiles.LoadAccelerator), acceleratorRow},
		{"workloads", profiles.WorkloadNames, shown(profiles.LoadWorkload), workloadRow},
		{"engines", profiles.EngineNames, shown(profiles.LoadEngine), engineRow},
	} {
		cmd.AddCommand(c.command(s))
	}
	return cmd
}

// shown prints as YAML what load loads.
func shown[T any](load func(string) (*T, error)) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		v, err := load(name)
		if err != nil {
			return nil, err
		}
		return yaml.Marshal(v)
	}
}

func showModel(name string) ([]byte, error) {
	data, err := profiles.ModelConfig(name)
	if err == nil && (len(data) == 0 || data[len(data)-1] != '\n') {
		data = append(data, '\n')
	}
	return data, err
}

func modelRow(name string) ([]field, error) {
	m, err := profiles.LoadModel(name)
	if err != nil {
		return nil, err
	}
	parameters := shape.CountParameters(m).Total()
	kv := shape.KVBytesPerToken(m, shape.BF16, 1)
	return []field{
		{key: "model", value: name, head: "model", text: name},
		{key: "hugging_face_ids", value: m.IDs},
		{key: "parameters", value: parameters, head: "params", text: billions(parameters), right: true},
		{key: "layers", value: len(m.Layers), head: "layers", text: strconv.Itoa(len(m.Layers)), right: true},
		{key: "heads", value: m.Heads},
		{key: "kv_heads", value: kvHeads(m), head: "kv", text: kvHeads(m), right: true},
		{key: "context_tokens", value: m.MaxPositions, head: "context", text: units.Count(int64(m.MaxPositions)), right: true},
		{key: "kv_bytes_per_token", value: kv, head: "KV B/token", text: units.Count(kv), right: true},
	}, nil
}

// kvHeads is the number of KV heads of the model's attention layers, or the
// name of what it has in their place.
func kvHeads(m *profiles.Model) string {
	for _, l := range m.Layers {
		switch a := l.Attention; a.Kind {
		case profiles.LatentAttention:
			return "latent"
		case profiles.LinearAttention, profiles.NoAttention:
		default:
			return strconv.Itoa(a.KVHeads)
		}
	}
	return ""
}

func billions(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.3gM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.4gB", float64(n)/1e9)
}

func acceleratorRow(name string) ([]field, error) {
	a, err := profiles.LoadAccelerator(name)
	if err != nil {
		return nil, err
	}
	return []field{
		{key: "accelerator", value: name, head: "accelerator", text: name},
		{key: "memory_bytes", value: a.MemoryBytes, head: "memory", text: units.Bytes(a.MemoryBytes), right: true},
		known("bandwidth_bytes_per_s", "GB/s", a.BandwidthBytesPerS, 1e9),
		known("bf16_flops_per_s", "bf16 TF/s", a.BF16FlopsPerS, 1e12),
		known("fp8_flops_per_s", "fp8 TF/s", a.FP8FlopsPerS, 1e12),
		{key: "link", value: a.Link, head: "link", text: a.Link},
		known("usd_per_hour", "$/h", a.USDPerHour, 1),
	}, nil
}

// known is a number that some entries do not have.
func known(key, head string, v, unit float64) field {
	f := field{key: key, head: head, right: true}
	if v != 0 {
		f.value, f.text = v, units.Number(v/unit)
	}
	return f
}

func workloadRow(name string) ([]field, error) {
	p, err := profiles.LoadWorkloadProfile(name)
	if err != nil {
		return nil, err
	}
	w := p.Workload
	return []field{
		{key: "workload", value: name, head: "workload", text: name},
		{key: "title", value: p.Title, head: "title", text: p.Title},
		{key: "input_tokens", value: w.Input},
		{key: "output_tokens", value: w.Output},
		{key: "input_tokens_mean", value: w.Input.Average(), head: "input", text: units.Number(w.Input.Average()), right: true},
		{key: "output_tokens_mean", value: w.Output.Average(), head: "output", text: units.Number(w.Output.Average()), right: true},
		{key: "turns_mean", value: w.Session.MeanTurns(), head: "turns", text: units.Number(w.Session.MeanTurns()), right: true},
		{key: "prefix", value: w.Prefix.String(), head: "prefix", text: w.Prefix.String()},
		{key: "slo", value: p.SLO},
	}, nil
}

func engineRow(name string) ([]field, error) {
	e, err := profiles.LoadEngine(name)
	if err != nil {
		return nil, err
	}
	return []field{
		{key: "engine", value: name, head: "engine", text: name},
		{key: "title", value: e.Title, head: "title", text: e.Title},
		known("gpu_memory_utilization", "memory share", e.Utilization, 1),
		known("block_size_tokens", "block", float64(e.BlockSize), 1),
	}, nil
}
