package sizing

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing/shape"
)

// weightWarnings says where the files beside a config disagree with it, and
// what of a model is not counted.
func (s *situation) weightWarnings() {
	m := s.model
	if m.Vision != nil && m.Vision.Encoder == 0 && !shape.FromHeaders(m, s.format) {
		s.warn("vision-tower", "the weights of %s's vision tower (%s) are not counted: its parameters do not follow from the config by a rule that is known here", m.Name, m.Vision.Kind)
	}
	if !m.Generates() {
		s.warn("no-generator", "the file is of %s, which embeds or scores and makes no tokens: the plan is that of a generator of its shape; take the memory, not the times", m.Architecture)
	}
	if d := shape.Discrepancy(m); math.Abs(d) > 0.001 {
		s.warn("weights-mismatch", "the tensors in the %d files have %s parameters, by the config there are %s: %+.1f%%",
			m.Stored.Files, units.Count(m.Stored.Parameters), units.Count(shape.CountParameters(m).Total()), 100*d)
	}
	if m.Stored != nil && m.Stored.Files > 0 && m.Stored.Indexed > 0 {
		// A stale index, such as one of the weights before they were quantized.
		if d := float64(m.Stored.Indexed)/float64(m.Stored.Total) - 1; math.Abs(d) > 0.02 {
			s.warn("weights-mismatch", "the index of the weights says %s in all, the headers of its %d files %s: %+.1f%%; the headers count",
				units.Bytes(m.Stored.Indexed), m.Stored.Files, units.Bytes(m.Stored.Total), 100*d)
		}
	}
	if m.Stored != nil && m.Stored.Files == 0 && m.Stored.Total > 0 {
		own := shape.Weights(m, shape.FormatOf(m))
		planned := own.Total() + own.Vision
		if d := float64(m.Stored.Total)/planned - 1; math.Abs(d) > 0.02 {
			s.warn("weights-mismatch", "the index of the weights says %s in all, by the config there are %s: %+.1f%% (extra prediction layers are in the index alone)",
				units.Bytes(m.Stored.Total), units.Bytes(int64(planned)), 100*d)
		}
	}
}

// parameters is the number of parameters of the language model: as the shapes
// in the files say, where they are there.
func (s *situation) parameters() int64 {
	if m := s.model; m.Stored != nil && m.Stored.Parameters > 0 {
		return m.Stored.Parameters
	}
	return shape.CountParameters(s.model).Total()
}

// weightsSource says where the bytes of the weights come from.
func (s *situation) weightsSource() string {
	if shape.FromHeaders(s.model, s.format) {
		return fmt.Sprintf("headers of %d safetensors files", s.model.Stored.Files)
	}
	return fmt.Sprintf("weight format %s: %s B per linear weight, %d B for the rest", s.format, setting(s.format.BytesPerWeight()), s.format.Base.Bytes())
}
