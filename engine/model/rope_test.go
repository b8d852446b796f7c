package model

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// TestRopesAreThoseOfTransformers compares with numbers that testdata/rope.py wrote.
func TestRopesAreThoseOfTransformers(t *testing.T) {
	data, err := os.ReadFile("testdata/rope.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name           string
		Theta          float64
		Width          int
		Window, Length int
		Scaling        struct {
			Kind          string    `json:"rope_type"`
			Factor        float64   `json:"factor"`
			Original      int       `json:"original_max_position_embeddings"`
			Attention     float64   `json:"attention_factor"`
			LowFrequency  float64   `json:"low_freq_factor"`
			HighFrequency float64   `json:"high_freq_factor"`
			BetaFast      float64   `json:"beta_fast"`
			BetaSlow      float64   `json:"beta_slow"`
			Scale         float64   `json:"mscale"`
			ScaleAll      float64   `json:"mscale_all_dim"`
			Short         []float64 `json:"short_factor"`
			Long          []float64 `json:"long_factor"`
		}
		Frequencies []float64
		Magnitude   float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			in := c.Scaling
			s := RopeScaling{
				Kind: in.Kind, Factor: in.Factor, Original: in.Original, Attention: in.Attention, LowFrequency: in.LowFrequency,
				HighFrequency: in.HighFrequency, BetaFast: in.BetaFast, BetaSlow: in.BetaSlow, Scale: in.Scale, ScaleAll: in.ScaleAll,
				Short: in.Short, Long: in.Long,
			}
			switch s.Kind {
			case "dynamic":
				s.Original = c.Window
			case "longrope":
				s.Original = 4096
				s.Factor = float64(c.Window) / 4096
			}
			r, err := s.Rope(c.Theta, c.Width, c.Length)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Frequencies) != len(c.Frequencies) {
				t.Fatalf("%d frequencies, want %d", len(r.Frequencies), len(c.Frequencies))
			}
			for i, f := range r.Frequencies {
				// transformers computes in float32.
				if d := math.Abs(f/c.Frequencies[i] - 1); !(d < 3e-6) {
					t.Errorf("frequency %d is %g, want %g", i, f, c.Frequencies[i])
				}
			}
			magnitude := r.Magnitude
			if magnitude == 0 {
				magnitude = 1
			}
			if math.Abs(magnitude-c.Magnitude) > 1e-12 {
				t.Errorf("magnitude %g, want %g", magnitude, c.Magnitude)
			}
		})
	}
}

func TestRopeScalingRefuses(t *testing.T) {
	four := []float64{1, 2, 3, 4}
	for _, c := range []struct {
		name string
		s    RopeScaling
		want string
	}{
		{"unknown kind", RopeScaling{Kind: "ntk", Factor: 2, Original: 8}, `kind "ntk" is not supported, expected linear, dynamic, yarn, llama3 or longrope`},
		{"no factor", RopeScaling{Kind: "linear"}, "factor 0, expected 1 or more"},
		{"factor is no number", RopeScaling{Kind: "yarn", Factor: math.NaN(), Original: 8}, "factor NaN"},
		{"no window", RopeScaling{Kind: "yarn", Factor: 2}, "the window before scaling is 0"},
		{"llama3 without bands", RopeScaling{Kind: "llama3", Factor: 8, Original: 8192, LowFrequency: 4, HighFrequency: 4}, "frequency factors 4 and 4"},
		{"too few factors", RopeScaling{Kind: "longrope", Original: 8, Short: four, Long: four[:3]}, "3 long factors, expected 4"},
		{"factor of zero", RopeScaling{Kind: "longrope", Original: 8, Short: []float64{1, 0, 1, 1}, Long: four}, "short factor 0, expected a positive one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.s.Rope(10_000, 8, 16); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	if _, err := (RopeScaling{Kind: "dynamic", Factor: 2, Original: 8}).Rope(10_000, 2, 16); err == nil || !strings.Contains(err.Error(), "too small") {
		t.Error(err)
	}
}
