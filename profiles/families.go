package profiles

import "maps"

// family is what a model_type implies beyond the fields of its config.json: the
// defaults of its configuration class in transformers (models/<type>/
// configuration_<type>.py) and the modules of its model class.
//
// A model_type that is not listed is refused, even where all its fields look
// like Llama's: biases, norms and gates that no field names would be guesses.
type family struct {
	defaults     map[string]any
	nested       map[string]any    // further defaults that count in the text part of a wrapper
	aliases      map[string]string // our name of a field to this family's, with dots for nested ones
	tied         bool              // tie_word_embeddings when the file does not say
	headless     bool              // there is no attention, hence no heads
	qkvBias      bool              // q, k and v always have a bias
	outputBias   bool              // attention_bias also puts one on the output projection
	outputAlways bool              // the output projection always has one
	mlpBias      bool
	qkNorm       bool
	norms        int
	normBias     bool // norms are LayerNorm with a bias
	setup        func(m *Model, c *config)
	layers       func(m *Model, c *config, n int)
}

// llamaLike is the pattern that most families follow: one mixer and one MLP per
// layer, two norms, no bias unless the file asks for it.
func llamaLike(attention attentionRule, mlp mlpRule) family {
	return family{norms: 2, outputBias: true, layers: eachLayer(attention, mlp)}
}

func (f family) with(changes ...func(*family)) family {
	for _, change := range changes {
		change(&f)
	}
	return f
}

func qkvBias(f *family)      { f.qkvBias = true }
func qkNorm(f *family)       { f.qkNorm = true }
func tied(f *family)         { f.tied = true }
func noOutputBias(f *family) { f.outputBias = false }
func allBiases(f *family)    { f.qkvBias, f.outputAlways, f.mlpBias = true, true, true }
func layerNorm(f *family)    { f.normBias = true }

// norms sets how many norms a layer has.
func norms(n int) func(*family) { return func(f *family) { f.norms = n } }

// defaultsOf sets what the class assumes for fields that a file leaves out.
func defaultsOf(fields map[string]any) func(*family) {
	return func(f *family) { f.defaults = fields }
}

// sparse sets what the class assumes for fields that a text part leaves out.
func sparse(fields map[string]any) func(*family) {
	return func(f *family) { f.nested = fields }
}

// named says how the family calls fields that others call differently.
func named(names map[string]string) func(*family) {
	return func(f *family) { f.aliases = names }
}

// setUp runs after what all families share has been read.
func setUp(setup func(*Model, *config)) func(*family) {
	return func(f *family) { f.setup = setup }
}

// headDim sets the class default of head_dim, which differs from
// hidden_size / num_attention_heads.
func headDim(n int) func(*family) { return defaultsOf(map[string]any{"head_dim": n}) }

// wideNorm is a norm on queries and keys over all heads together.
func wideNorm(m *Model, _ *config) { m.QKNorm, m.QKNormWide = false, true }

// families holds all supported model types.
var families = merged(llamaFamilies, expertFamilies, gptFamilies, hybridFamilies, latentFamilies, recentFamilies, wrappedFamilies)

func merged[V any](groups ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, g := range groups {
		maps.Copy(all, g)
	}
	return all
}
