package load

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/userfile"
	"github.com/llmctl/llmctl/profiles"
)

// config is what a config.json says that only computing needs. Whole numbers may be
// written with a fraction of zero.
type config struct {
	MaxPositions float64         `json:"max_position_embeddings"`
	Original     float64         `json:"original_max_position_embeddings"`
	Scaling      *scaling        `json:"rope_scaling"`
	Parameters   *scaling        `json:"rope_parameters"` // since transformers 5
	LocalTheta   *float64        `json:"rope_local_base_freq"`
	QueryScalar  *float64        `json:"query_pre_attn_scalar"`
	ScoreCap     json.RawMessage `json:"attn_logit_softcapping"`
	LogitCap     json.RawMessage `json:"final_logit_softcapping"`
	Normalize    bool            `json:"norm_topk_prob"`
	Activation   *string         `json:"hidden_activation"`
	OldName      *string         `json:"hidden_act"`
}

// scaling is rope_scaling, or rope_parameters, which may have such an object for each
// kind of layer.
type scaling struct {
	Type          string    `json:"rope_type"`
	OldType       string    `json:"type"`
	Theta         *float64  `json:"rope_theta"`
	Factor        float64   `json:"factor"`
	Original      float64   `json:"original_max_position_embeddings"`
	Attention     float64   `json:"attention_factor"`
	LowFrequency  float64   `json:"low_freq_factor"`
	HighFrequency float64   `json:"high_freq_factor"`
	BetaFast      float64   `json:"beta_fast"`
	BetaSlow      float64   `json:"beta_slow"`
	Scale         float64   `json:"mscale"`
	ScaleAll      float64   `json:"mscale_all_dim"`
	Truncate      *bool     `json:"truncate"`
	Short         []float64 `json:"short_factor"`
	Long          []float64 `json:"long_factor"`
	Full          *scaling  `json:"full_attention"`
	Windowed      *scaling  `json:"sliding_attention"`
}

// readDetails reads a config.json that profiles.ParseModel made p of.
func readDetails(data []byte, p profiles.Model) (model.Details, error) {
	var root struct {
		config
		Text *config `json:"text_config"`
	}
	if err := json.Unmarshal(data, &root); err != nil {
		return model.Details{}, userfile.JSONError(err)
	}
	c := root.config
	if root.Text != nil {
		c = *root.Text
	}
	d := model.Details{NormalizeExperts: c.Normalize || p.Type == "mixtral"}
	d.Scaling, d.WindowedTheta = c.rope(p)
	gemma := strings.HasPrefix(p.Type, "gemma")
	if gemma {
		if err := c.gemma(&d, p); err != nil {
			return d, err
		}
	}
	var err error
	d.Activation, err = c.activation(gemma)
	return d, err
}

// activation is SiLU where nothing is said, and the tanh approximation of GELU in
// Gemma, which does not heed hidden_act.
func (c *config) activation(gemma bool) (model.Activation, error) {
	name, fallback := c.OldName, "silu"
	if gemma {
		name, fallback = c.Activation, "gelu_pytorch_tanh"
	}
	if name == nil {
		name = &fallback
	}
	switch *name {
	case "silu", "swish":
		return model.SiLU, nil
	case "gelu_pytorch_tanh", "gelu_new":
		return model.GELUTanh, nil
	}
	return 0, fmt.Errorf("activation %.40q is not supported, expected silu or gelu_pytorch_tanh", *name)
}

// rope reads the scaling of the rotary embedding, and the base of layers with a
// window where they have their own.
func (c *config) rope(p profiles.Model) (s model.RopeScaling, windowed float64) {
	from := c.Scaling
	if c.Parameters != nil {
		from = c.Parameters
	}
	if p.Type == "gemma3_text" {
		windowed = 10_000 // Gemma3TextConfig's default
	}
	if c.LocalTheta != nil {
		windowed = *c.LocalTheta
	}
	if from != nil && from.Full != nil {
		if w := from.Windowed; w != nil && w.Theta != nil {
			windowed = *w.Theta
		}
		from = from.Full
	}
	if from == nil {
		return model.RopeScaling{}, windowed
	}
	window := c.MaxPositions
	if window == 0 {
		window = float64(p.MaxPositions)
	}
	s = model.RopeScaling{
		Kind: from.kind(), Factor: from.Factor, Original: int(window), Attention: from.Attention,
		LowFrequency: from.LowFrequency, HighFrequency: from.HighFrequency,
		BetaFast: from.BetaFast, BetaSlow: from.BetaSlow, Scale: from.Scale, ScaleAll: from.ScaleAll,
		Unrounded: from.Truncate != nil && !*from.Truncate, Short: from.Short, Long: from.Long,
	}
	for _, original := range []float64{from.Original, c.Original} {
		if original >= 1 {
			s.Original = int(min(original, math.MaxInt32))
			break
		}
	}
	if s.Kind == "longrope" && s.Original > 0 && s.Original != int(window) {
		s.Factor = window / float64(s.Original)
	}
	return s, windowed
}

// kind is the kind of scaling by the name that model.RopeScaling has for it.
func (s *scaling) kind() string {
	kind := s.Type
	if kind == "" {
		kind = s.OldType
	}
	switch kind {
	case "default":
		return ""
	case "su": // Phi-3's first files
		return "longrope"
	}
	return kind
}

// gemma reads what Gemma 2 and 3 have, by the defaults of Gemma2Config and
// Gemma3TextConfig. A null is no cap; only Gemma 2 has caps that no file names.
func (c *config) gemma(d *model.Details, p profiles.Model) error {
	scalar := 256.0
	if c.QueryScalar != nil {
		scalar = *c.QueryScalar
	}
	if !(scalar > 0) {
		return fmt.Errorf("query_pre_attn_scalar %g must be positive", scalar)
	}
	d.QueryScale = 1 / math.Sqrt(scalar)
	d.EmbeddingScale = math.Sqrt(float64(p.HiddenSize))
	caps := []struct {
		name  string
		value json.RawMessage
		usual float64 // of Gemma 2
		to    *float64
	}{
		{"attn_logit_softcapping", c.ScoreCap, 50, &d.ScoreCap},
		{"final_logit_softcapping", c.LogitCap, 30, &d.LogitCap},
	}
	for _, limit := range caps {
		switch {
		case limit.value == nil && p.Type == "gemma2":
			*limit.to = limit.usual
		case limit.value != nil:
			if err := json.Unmarshal(limit.value, limit.to); err != nil || *limit.to < 0 {
				return fmt.Errorf("%s: expected a positive number or null, got %.40s", limit.name, limit.value)
			}
		}
	}
	slides := func(l profiles.Layer) bool { return l.Attention.Window > 0 }
	if d.WindowedTheta != 0 && !slices.ContainsFunc(p.Layers, slides) {
		return fmt.Errorf("no layer has a window smaller than the context of %d tokens, so that none would be known to have a rotary embedding of its own", p.MaxPositions)
	}
	return nil
}
