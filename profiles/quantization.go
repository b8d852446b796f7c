package profiles

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// readQuantization reads quantization_config, which wrappers keep at the top
// or inside the text part. compression_config is its older name.
func readQuantization(root, text *config) Quantization {
	for _, c := range []*config{root, text} {
		for _, name := range []string{"quantization_config", "compression_config"} {
			if q := c.object(name); q != nil {
				out := quantizationOf(q)
				text.adopt(q)
				return out
			}
		}
	}
	return Quantization{}
}

// quantizationOf reads the dialects that checkpoints use. A method that is not
// known is refused, since its bytes would be a guess.
func quantizationOf(q *config) Quantization {
	out := Quantization{Kept: kept(q)}
	method := strings.ToLower(q.text("", "quant_method"))
	algo := strings.ToLower(q.text("", "quant_algo"))
	switch {
	case algo == "mixed_precision" && q.object("quantized_layers") != nil:
		mixedPrecision(q, method, &out)
	case method == "fp8" || method == "fbgemm_fp8":
		out.Encoding = fp8Encoding(q)
	case method == "awq" || method == "gptq" || method == "awq_marlin" || method == "gptq_marlin":
		out.Encoding = integerEncoding(q, strings.TrimSuffix(method, "_marlin"))
	case method == "auto-round" || method == "intel/auto-round":
		out.Encoding = integerEncoding(q, "gptq")
	case method == "mxfp4":
		out.Encoding = Encoding{Method: "mxfp4", Bits: 4, GroupSize: 32}
	case method == "bitsandbytes":
		out.Encoding = bitsAndBytes(q)
	case method == "quark":
		quark(q, &out)
	case method == "fp_quant" || method == "fpquant":
		out.Encoding = namedEncoding(q, "forward_dtype", strings.ToLower(q.text("nvfp4", "forward_dtype")))
	case q.object("config_groups") != nil:
		compressedTensors(q, &out)
	case algo != "":
		out.Encoding = namedEncoding(q, "quant_algo", algo)
		if size, ok := q.count(1, maxWidth, "group_size"); ok && out.GroupSize > 0 {
			out.GroupSize = size
		}
	case method == "compressed-tensors" || method == "modelopt":
		q.refuse("config_groups", "is missing")
	default:
		q.refuse("quant_method", "%q is not supported", method)
	}
	checkPatterns(q, out)
	out.KV, out.KVScheme = declaredKV(q), method == "compressed-tensors"
	out.KVScheme = out.KVScheme && out.KV != ""
	return out
}

// declaredKV is the cache format that a checkpoint declares: ModelOptimizer names
// it (kv_cache_quant_algo) or describes it as compressed-tensors does
// (kv_cache_scheme). Formats that no engine takes over are none.
func declaredKV(q *config) string {
	for _, field := range []string{"kv_cache_scheme", "kv_cache_quant_algo"} {
		switch v := q.fields[field].(type) {
		case string:
			if name := strings.ToLower(v); name == "fp8" || name == "nvfp4" {
				return name
			}
		case map[string]any:
			bits, _ := integer(v["num_bits"])
			dynamic, _ := v["dynamic"].(bool)
			switch {
			case v["type"] != "float":
			case bits == 8 && !dynamic:
				return "fp8"
			case bits == 4:
				return "nvfp4"
			}
		}
	}
	return ""
}

// checkPatterns refuses a regular expression that can not be read, such as one
// that looks ahead, since the modules that it names would be guesses.
func checkPatterns(q *config, out Quantization) {
	patterns := slices.Clone(out.Kept)
	for _, p := range out.Parts {
		patterns = append(patterns, p.Modules...)
	}
	for _, p := range patterns {
		if text, ok := strings.CutPrefix(p, "re:"); ok {
			if _, err := regexp.Compile(text); err != nil {
				q.refuse("ignore", "%.60q is no regular expression that can be read", p)
			}
		}
	}
}

// fp8Encoding reads weight_block_size, which is square in all known files.
func fp8Encoding(q *config) Encoding {
	e := Encoding{Method: "fp8", Bits: 8}
	rows, columns := blockOf(q, "weight_block_size")
	if rows == 1 && columns == 32 {
		return Encoding{Method: "mxfp8", Bits: 8, GroupSize: 32}
	}
	e.GroupSize = columns
	return e
}

// blockOf reads the rows and columns of the blocks that share a scale; zeros when
// the file has none.
func blockOf(q *config, name string) (rows, columns int) {
	size, ok := q.list(name)
	if !ok {
		return 0, 0
	}
	if len(size) == 2 {
		var whole bool
		rows, _ = integer(size[0])
		if columns, whole = integer(size[1]); whole && rows >= 1 && columns >= 1 && rows <= maxWidth && columns <= maxWidth {
			return rows, columns
		}
	}
	q.refuse(name, "expected two sizes, got %s", show(size))
	return 0, 0
}

// integerEncoding reads AWQ and GPTQ: AWQ has zero points unless the file says
// otherwise, GPTQ unless it is symmetric.
func integerEncoding(q *config, method string) Encoding {
	e := Encoding{Method: method}
	e.Bits, _ = q.count(2, 8, "bits", "w_bit", "wbits")
	size, ok := q.count(-1, maxWidth, "group_size", "q_group_size")
	if ok && size == 0 {
		q.refuse("group_size", "0 is no size of a group; -1 stands for one group per channel")
	}
	e.GroupSize = max(0, size)
	if e.Bits == 0 {
		q.refuse("bits", "is missing")
	}
	if method == "awq" {
		e.ZeroPoints = q.flag(true, "zero_point")
	} else {
		e.ZeroPoints = !q.flag(true, "sym")
	}
	return e
}

func bitsAndBytes(q *config) Encoding {
	switch {
	case q.flag(false, "load_in_4bit", "_load_in_4bit"):
		return Encoding{Method: "nf4", Bits: 4, GroupSize: 64, DoubleScale: q.flag(false, "bnb_4bit_use_double_quant")}
	case q.flag(false, "load_in_8bit", "_load_in_8bit"):
		return Encoding{Method: "int8", Bits: 8}
	}
	q.refuse("load_in_4bit", "is missing, and so is load_in_8bit")
	return Encoding{}
}

// encodings are the names that ModelOptimizer and others give to formats.
var encodings = map[string]Encoding{
	"fp8":                                  {Method: "fp8", Bits: 8},
	"fp8_per_channel_per_token":            {Method: "fp8", Bits: 8},
	"fp8_pb_wo":                            {Method: "fp8", Bits: 8, GroupSize: 128},
	"fp8_block_scales":                     {Method: "fp8", Bits: 8, GroupSize: 128},
	"nvfp4":                                {Method: "nvfp4", Bits: 4, GroupSize: 16},
	"nvfp4_awq":                            {Method: "nvfp4", Bits: 4, GroupSize: 16},
	"w4a16_nvfp4":                          {Method: "nvfp4", Bits: 4, GroupSize: 16},
	"w4a8_nvfp4_fp8":                       {Method: "nvfp4", Bits: 4, GroupSize: 16},
	"mxfp4":                                {Method: "mxfp4", Bits: 4, GroupSize: 32},
	"w4a8_mxfp4_fp8":                       {Method: "mxfp4", Bits: 4, GroupSize: 32},
	"mxfp8":                                {Method: "mxfp8", Bits: 8, GroupSize: 32},
	"w4a16_awq":                            {Method: "awq", Bits: 4, GroupSize: 128},
	"int4_awq":                             {Method: "awq", Bits: 4, GroupSize: 128},
	"w4a8_awq":                             {Method: "awq", Bits: 4, GroupSize: 128},
	"w4a16":                                {Method: "int4", Bits: 4, GroupSize: 128},
	"w8a16":                                {Method: "int8", Bits: 8, WeightOnly: true},
	"int8_sq":                              {Method: "int8", Bits: 8},
	"w8a8_sq_per_channel":                  {Method: "int8", Bits: 8},
	"w8a8_sq_per_channel_per_token_plugin": {Method: "int8", Bits: 8},
}

func namedEncoding(q *config, field, name string) Encoding {
	e, ok := encodings[name]
	if !ok {
		q.refuse(field, "%q is not supported", name)
	}
	return e
}

// kept lists the modules that stay unquantized.
func kept(q *config) []string {
	var names []string
	for _, field := range []string{"modules_to_not_convert", "llm_int8_skip_modules", "ignored_layers", "ignore", "exclude_modules", "exclude"} {
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

// parseQuantConfig reads ModelOptimizer's hf_quant_config.json, or the
// quantization of another config.json.
func parseQuantConfig(data []byte) (Quantization, error) {
	root, err := decodeConfig(data)
	if err != nil {
		return Quantization{}, err
	}
	q := root.object("quantization")
	if q == nil {
		text := textPart(root)
		out := readQuantization(root, text)
		root.adopt(text)
		if out.Method == "" {
			root.refuse("quantization", "is missing")
		}
		return out, root.err
	}
	out := quantizationOf(q)
	root.adopt(q)
	return out, root.err
}

// weightFormats are the names that --weight-dtype takes.
var weightFormats = map[string]Encoding{
	"bf16": {}, "fp16": {}, "fp32": {},
	"fp8":       {Method: "fp8", Bits: 8},
	"mxfp8":     {Method: "mxfp8", Bits: 8, GroupSize: 32},
	"int8":      {Method: "int8", Bits: 8},
	"int4":      {Method: "int4", Bits: 4, GroupSize: 128, ZeroPoints: true},
	"int4-g128": {Method: "int4", Bits: 4, GroupSize: 128, ZeroPoints: true},
	"int4-g32":  {Method: "int4", Bits: 4, GroupSize: 32, ZeroPoints: true},
	"awq":       {Method: "awq", Bits: 4, GroupSize: 128, ZeroPoints: true},
	"gptq":      {Method: "gptq", Bits: 4, GroupSize: 128},
	"mxfp4":     {Method: "mxfp4", Bits: 4, GroupSize: 32},
	"nvfp4":     {Method: "nvfp4", Bits: 4, GroupSize: 16},
	"nf4":       {Method: "nf4", Bits: 4, GroupSize: 64},
}

// ParseWeightFormat reads a weight format: bf16, fp16 and fp32 (no
// quantization), fp8, mxfp8, int8, int4 and awq (groups of 128 with zero points),
// gptq (symmetric groups of 128), mxfp4, nvfp4, nf4 (bitsandbytes). It is quantization while loading, of all linear
// layers: embeddings, head, routers and norms stay as they are.
func ParseWeightFormat(name string) (Quantization, error) {
	e, ok := weightFormats[strings.ToLower(name)]
	if !ok {
		known := slices.Sorted(maps.Keys(weightFormats))
		return Quantization{}, unknown("weight format", name, known, "expected one of "+strings.Join(known, ", "))
	}
	return Quantization{Encoding: e}, nil
}
