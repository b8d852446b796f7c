package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
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
	cmd.AddCommand(
		newCatalogue(s, "models", listModels, showModel),
		newCatalogue(s, "accelerators", listAccelerators, func(name string) ([]byte, error) {
			return showYAML(profiles.LoadAccelerator(name))
		}),
		newCatalogue(s, "workloads", listWorkloads, func(name string) ([]byte, error) {
			return showYAML(profiles.LoadWorkload(name))
		}),
		newCatalogue(s, "engines", listEngines, func(name string) ([]byte, error) {
			return showYAML(profiles.LoadEngine(name))
		}),
	)
	return cmd
}

// A catalogue is what `profiles KIND -o json` prints.
type catalogue struct {
	Schema  string              `json:"schema"`
	Entries []map[string]string `json:"entries"`
}

func newCatalogue(s *iostreams.IO, kind string, list func() (reports.Table, error), show func(string) ([]byte, error)) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   kind,
		Short: "List the built-in " + kind,
		Args:  unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			table, err := list()
			if err != nil {
				return err
			}
			return output.write(s, entries(kind, table), func() error {
				_, err := table.WriteTo(s.Out)
				return err
			})
		},
	}
	output.add(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "show NAME",
		Short: "Print one of the " + kind + " in the form that can be edited and passed back",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := show(args[0])
			if err != nil {
				return usage(err)
			}
			_, err = s.Out.Write(data)
			return err
		},
	})
	return cmd
}

func entries(kind string, t reports.Table) catalogue {
	c := catalogue{Schema: "llmctl/" + kind + "/v1", Entries: []map[string]string{}}
	for _, row := range t.Rows {
		entry := map[string]string{}
		for i, cell := range row {
			if cell != "" {
				entry[t.Header[i]] = cell
			}
		}
		c.Entries = append(c.Entries, entry)
	}
	return c
}

func showYAML[T any](v *T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(v)
}

func showModel(name string) ([]byte, error) {
	data, err := profiles.ModelConfig(name)
	if err == nil && (len(data) == 0 || data[len(data)-1] != '\n') {
		data = append(data, '\n')
	}
	return data, err
}

func listModels() (reports.Table, error) {
	t := reports.Table{
		Header: []string{"model", "parameters", "layers", "heads", "kv_heads", "context", "kv_bytes_per_token"},
		Right:  []bool{false, true, true, true, true, true, true},
	}
	for _, name := range profiles.ModelNames() {
		m, err := profiles.LoadModel(name)
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, []string{
			name, billions(shape.CountParameters(m).Total()), strconv.Itoa(len(m.Layers)), strconv.Itoa(m.Heads),
			kvHeads(m), units.Count(int64(m.MaxPositions)), units.Count(shape.KVBytesPerToken(m, shape.BF16, 1)),
		})
	}
	return t, nil
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

func listAccelerators() (reports.Table, error) {
	t := reports.Table{
		Header: []string{"accelerator", "memory", "gb_per_s", "bf16_tflops", "fp8_tflops", "link", "usd_per_hour"},
		Right:  []bool{false, true, true, true, true, false, true},
	}
	for _, name := range profiles.AcceleratorNames() {
		a, err := profiles.LoadAccelerator(name)
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, []string{
			name, units.Bytes(a.MemoryBytes), known(a.BandwidthBytesPerS / 1e9), known(a.BF16FlopsPerS / 1e12),
			known(a.FP8FlopsPerS / 1e12), a.Link, price(a.USDPerHour),
		})
	}
	return t, nil
}

// known leaves out what no source tells.
func known(v float64) string {
	if v == 0 {
		return ""
	}
	return units.Number(v)
}

func price(usd float64) string {
	if usd == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", usd)
}

func listWorkloads() (reports.Table, error) {
	t := reports.Table{Header: []string{"workload", "input", "output", "prefix", "slo"}}
	for _, name := range profiles.WorkloadNames() {
		p, err := profiles.LoadWorkloadProfile(name)
		if err != nil {
			return t, err
		}
		w := p.Workload
		t.Rows = append(t.Rows, []string{name, w.Input.String(), w.Output.String(), w.Prefix.String(), p.SLO.String()})
	}
	return t, nil
}

func listEngines() (reports.Table, error) {
	t := reports.Table{
		Header: []string{"engine", "title", "utilization", "block_size"},
		Right:  []bool{false, false, true, true},
	}
	for _, name := range profiles.EngineNames() {
		e, err := profiles.LoadEngine(name)
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, []string{name, e.Title, known(e.Utilization), known(float64(e.BlockSize))})
	}
	return t, nil
}
