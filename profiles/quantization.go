package profiles

import (
	"maps"
	"slices"
	"strings"
)

// readQuantization reads quantization_config, which wrappers keep at the top
// or inside the text part.
func readQuantization(root, text *config) Quantization {
	q := root.object("quantization_config")
	if q == nil && text != root {
		q = text.object("quantization_config")
	}
	if q == nil {
		return Quantization{}
	}
	out := quantizationOf(q)
	text.adopt(q)
	return out
}

// quantizationOf reads the dialects that checkpoints use. A method that is not
// known is refused, since its bytes would be a guess.
func quantizationOf(q *config) Quantization {
	out := Quantization{Kept: kept(q)}
	method := q.text("", "quant_method")
	algo := strings.ToLower(q.text("", "quant_algo"))
	switch {
	case method == "fp8", method == "fbgemm_fp8":
		out.Method, out.Bits = "fp8", 8
		if size, ok := q.list("weight_block_size"); ok && len(size) == 2 {
			out.GroupSize, _ = integer(size[1])
		}
	case method == "awq", method == "gptq":
		out.Method = method
		out.Bits, _ = q.count(2, 8, "bits", "w_bit")
		out.GroupSize, _ = q.count(-1, maxWidth, "group_size", "q_group_size")
		out.GroupSize = max(0, out.GroupSize)
		if out.Bits == 0 {
			q.refuse("bits", "is missing")
		}
	case method == "mxfp4":
		out.Method, out.Bits, out.GroupSize = "mxfp4", 4, 32
	case strings.Contains(algo, "nvfp4"):
		out.Method, out.Bits, out.GroupSize = "nvfp4", 4, 16
	case strings.Contains(algo, "fp8"):
		out.Method, out.Bits = "fp8", 8
	case method == "compressed-tensors", method == "modelopt":
		compressedTensors(q, &out)
	default:
		q.refuse("quant_method", "%q is not supported", method+algo)
	}
	return out
}

// compressedTensors reads config_groups: all groups must agree on the weights.
func compressedTensors(q *config, out *Quantization) {
	groups := q.object("config_groups")
	if groups == nil || len(groups.fields) == 0 {
		q.refuse("config_groups", "is missing")
		return
	}
	seen := false
	for name := range groups.fields {
		group := groups.object(name)
		if group == nil {
			q.adopt(groups)
			return
		}
		weights := group.object("weights")
		if weights == nil {
			q.refuse("config_groups", "%s has no weights", name)
			return
		}
		bits := weights.width("num_bits")
		size, _ := weights.count(0, maxWidth, "group_size")
		method := weights.text("int", "type")
		q.adopt(weights)
		if seen && (bits != out.Bits || size != out.GroupSize) {
			q.refuse("config_groups", "groups of different formats are not supported")
			return
		}
		seen, out.Bits, out.GroupSize = true, bits, size
		switch {
		case method == "float" && bits == 8:
			out.Method = "fp8"
		case method == "float" && bits == 4:
			out.Method = "nvfp4"
		case method == "int" && bits == 8:
			out.Method = "int8"
		case method == "int" && bits == 4:
			out.Method = "int4"
		default:
			q.refuse("config_groups", "%s weights of %d bits are not supported", method, bits)
		}
	}
}

// kept lists the modules that stay unquantized.
func kept(q *config) []string {
	var names []string
	for _, field := range []string{"modules_to_not_convert", "ignore", "exclude_modules"} {
		items, ok := q.list(field)
		if !ok {
			continue
		}
		for _, item := range items {
			if name, isString := item.(string); isString {
				names = append(names, name)
			}
		}
	}
	return names
}

// parseQuantConfig reads ModelOptimizer's hf_quant_config.json.
func parseQuantConfig(data []byte) (Quantization, error) {
	root, err := decodeConfig(data)
	if err != nil {
		return Quantization{}, err
	}
	q := root.object("quantization")
	if q == nil {
		root.refuse("quantization", "is missing")
		return Quantization{}, root.err
	}
	out := quantizationOf(q)
	root.adopt(q)
	return out, root.err
}

// weightFormats are the names that --weight-dtype takes.
var weightFormats = map[string]Quantization{
	"bf16": {}, "fp16": {}, "fp32": {},
	"fp8":       {Method: "fp8", Bits: 8},
	"int8":      {Method: "int8", Bits: 8},
	"int4":      {Method: "int4", Bits: 4, GroupSize: 128},
	"int4-g128": {Method: "int4", Bits: 4, GroupSize: 128},
	"int4-g32":  {Method: "int4", Bits: 4, GroupSize: 32},
	"awq":       {Method: "awq", Bits: 4, GroupSize: 128},
	"gptq":      {Method: "gptq", Bits: 4, GroupSize: 128},
	"mxfp4":     {Method: "mxfp4", Bits: 4, GroupSize: 32},
	"nvfp4":     {Method: "nvfp4", Bits: 4, GroupSize: 16},
}

// ParseWeightFormat reads a weight format: bf16, fp16 and fp32 (no
// quantization), fp8, int8, int4 (groups of 128), awq, gptq, mxfp4, nvfp4.
func ParseWeightFormat(name string) (Quantization, error) {
	q, ok := weightFormats[strings.ToLower(name)]
	if !ok {
		known := slices.Sorted(maps.Keys(weightFormats))
		return Quantization{}, unknown("weight format", name, known, "expected one of "+strings.Join(known, ", "))
	}
	return q, nil
}
