package sizing

import (
	"fmt"
	"slices"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// resolveFormats settles how weights, activations and the cache are stored: as
// said, else as the model is published, and never in a format that the
// accelerator does not compute in without saying so.
func (s *situation) resolveFormats(r Request) error {
	s.format = shape.FormatOf(s.model)
	if s.format.Base == shape.FP32 && s.engine.CastsFP32 {
		s.format.Base = shape.BF16
	}
	if err := s.weightFormat(r.WeightDType); err != nil {
		return fmt.Errorf("--weight-dtype: %w", err)
	}
	s.kv = s.format.Base
	declared := s.declaredKV()
	if declared != "" {
		s.kv = declared
	}
	said := r.KVDType != "" && r.KVDType != "auto"
	if said {
		d, err := shape.ParseDType(r.KVDType)
		if err != nil {
			return fmt.Errorf("--kv-dtype: %w", err)
		}
		s.kv = d
	}
	s.suitDevice()
	if r.WeightDType == "" {
		s.assume("weight dtype", s.format.String(), "--weight-dtype")
	}
	if !said {
		value := string(s.kv)
		if declared != "" {
			value += ", as the checkpoint declares"
		}
		s.assume("KV dtype", value, "--kv-dtype")
	}
	s.inputs.WeightDType, s.inputs.KVDType = s.format.String(), string(s.kv)
	return nil
}

// declaredKV is the cache format that the checkpoint declares, where the engine
// follows it.
func (s *situation) declaredKV() shape.DType {
	q := s.format.Quantization
	if made := s.model.Quantization.Method == "" && (q.Method == "fp8" || q.Method == "nvfp4"); made && s.engine.QuantizedKV {
		return shape.FP8
	}
	if q.KV == "" || !slices.Contains(s.engine.DeclaredKV, q.KV) || q.KVScheme && !slices.Contains(s.engine.DeclaredKV, "scheme") {
		return ""
	}
	d, err := shape.ParseDType(q.KV)
	if err != nil {
		return ""
	}
	return d
}

// weightFormat takes a format that the user names, if any.
func (s *situation) weightFormat(name string) error {
	if name == "" {
		return nil
	}
	q, err := profiles.ParseWeightFormat(name)
	if err != nil {
		return err
	}
	// A file in the wanted format knows its groups and exceptions best.
	if q.Method != s.model.Quantization.Method {
		s.format.Quantization = q
	}
	if q.Method == "" {
		d, err := shape.ParseDType(name)
		if err != nil {
			return err
		}
		s.format = shape.Format{Base: d}
	}
	return nil
}

// suitDevice replaces bf16 by fp16, which has the same size, on a device that
// has no bf16, and says which formats of less than 16 bits are for storage only.
func (s *situation) suitDevice() {
	if s.device.FP16Only && (s.format.Base == shape.BF16 || s.kv == shape.BF16) {
		if s.format.Base == shape.BF16 {
			s.format.Base = shape.FP16
		}
		if s.kv == shape.BF16 {
			s.kv = shape.FP16
		}
		s.warn("no-bf16", "%s has no bf16: the plan takes fp16, which has the same size; start the engine in fp16", s.device.Name)
	}
	method := s.format.Quantization.Method
	if method == "nvfp4" && s.device.FP4FlopsPerS == 0 {
		s.warn("no-fp4", "%s does not compute in fp4: %s weights save memory, but are widened for the matrix products, where the engine supports that at all", s.device.Name, method)
	}
	if s.device.FP8FlopsPerS > 0 {
		return
	}
	if method == "fp8" {
		s.warn("no-fp8", "%s does not compute in fp8: fp8 weights save memory, but are widened to 16 bits for the matrix products, where the engine supports that at all", s.device.Name)
	}
	if s.kv == shape.FP8 {
		s.warn("no-fp8-cache", "%s does not compute in fp8: an fp8 cache saves memory where the engine supports it at all", s.device.Name)
	}
}
