package profiles

import (
	"maps"
	"slices"
	"strings"
)

// compressedTensors reads config_groups. A group whose targets are classes of
// layers ("Linear") stands for all modules, one that names modules for those.
func compressedTensors(q *config, out *Quantization) {
	groups := q.object("config_groups")
	if len(groups.fields) == 0 {
		q.refuse("config_groups", "is missing")
		return
	}
	everything := false
	for _, name := range slices.Sorted(maps.Keys(groups.fields)) {
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
		e := groupEncoding(group, weights)
		q.adopt(weights)
		q.adopt(group)
		modules := namedModules(group)
		switch {
		case len(modules) > 0:
			out.Parts = append(out.Parts, Part{Encoding: e, Modules: modules})
		case everything && e != out.Encoding:
			q.refuse("config_groups", "groups of different formats for the same modules")
			return
		default:
			everything, out.Encoding = true, e
		}
	}
	if !everything {
		out.Encoding, out.OnlyParts = fewestBits(out.Parts), true
	}
}

// groupEncoding reads the weights of one group.
func groupEncoding(group, weights *config) Encoding {
	bits := weights.width("num_bits")
	size, _ := weights.count(0, maxWidth, "group_size")
	kind := weights.text("int", "type")
	format := group.text("", "format")
	e := Encoding{Bits: bits, GroupSize: size, ZeroPoints: kind == "int" && !weights.flag(true, "symmetric")}
	switch {
	case kind == "float" && bits == 8 && strings.HasPrefix(format, "mxfp8"):
		e.Method, e.GroupSize = "mxfp8", 32
	case kind == "float" && bits == 8:
		e.Method, e.GroupSize = "fp8", 0
		_, e.GroupSize = blockOf(weights, "block_structure")
	case kind == "float" && bits == 4 && (size == 32 || strings.HasPrefix(format, "mxfp4")):
		e.Method, e.GroupSize = "mxfp4", 32
	case kind == "float" && bits == 4:
		e.Method, e.GroupSize = "nvfp4", 16
	case kind == "int" && bits == 8:
		e.Method, e.WeightOnly = "int8", group.object("input_activations") == nil
	case kind == "int" && bits >= 2 && bits <= 8:
		e.Method = "int4"
	default:
		weights.refuse("num_bits", "%s weights of %d bits are not supported", kind, bits)
	}
	return e
}

// namedModules are a group's targets, unless they name a class of layers: those
// begin with a capital and stand for all.
func namedModules(group *config) []string {
	items, _ := group.list("targets")
	var names []string
	for _, item := range items {
		name, isString := item.(string)
		if !isString || name == "" || name[0] >= 'A' && name[0] <= 'Z' {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// mixedPrecision reads ModelOptimizer's quantized_layers, which names a format
// for each module. Over an fp8 checkpoint they are the exceptions; what its
// ignore list names then stays in fp8.
func mixedPrecision(q *config, method string, out *Quantization) {
	layers := q.object("quantized_layers")
	byFormat := map[Encoding][]string{}
	for _, name := range slices.Sorted(maps.Keys(layers.fields)) {
		layer := layers.object(name)
		if layer == nil {
			q.adopt(layers)
			return
		}
		e := namedEncoding(layer, "quant_algo", strings.ToLower(layer.text("", "quant_algo")))
		if size, ok := layer.count(1, maxWidth, "group_size"); ok {
			e.GroupSize = size
		}
		q.adopt(layer)
		byFormat[e] = append(byFormat[e], name)
	}
	for e, modules := range byFormat {
		out.Parts = append(out.Parts, Part{Encoding: e, Modules: modules})
	}
	slices.SortFunc(out.Parts, func(a, b Part) int { return strings.Compare(a.Modules[0], b.Modules[0]) })
	if method == "fp8" {
		out.Encoding, out.Kept = fp8Encoding(q), nil
		return
	}
	out.Encoding, out.OnlyParts = fewestBits(out.Parts), true
}

// fewestBits is the encoding that names a mixed checkpoint: the smallest.
func fewestBits(parts []Part) Encoding {
	var least Encoding
	for _, p := range parts {
		if least.Bits == 0 || p.Bits < least.Bits {
			least = p.Encoding
		}
	}
	return least
}

// quark reads AMD Quark's global_quant_config, and layer_quant_config for
// modules that differ from it.
func quark(q *config, out *Quantization) {
	global := q.object("global_quant_config")
	if global == nil {
		q.refuse("global_quant_config", "is missing")
		return
	}
	out.Encoding = quarkEncoding(global)
	q.adopt(global)
	layers := q.object("layer_quant_config")
	if layers == nil {
		return
	}
	for _, pattern := range slices.Sorted(maps.Keys(layers.fields)) {
		layer := layers.object(pattern)
		if layer == nil {
			q.adopt(layers)
			return
		}
		out.Parts = append(out.Parts, Part{Encoding: quarkEncoding(layer), Modules: []string{pattern}})
		q.adopt(layer)
	}
}

func quarkEncoding(c *config) Encoding {
	weight := c.object("weight")
	if list, ok := c.fields["weight"].([]any); ok && len(list) > 0 {
		// A list describes nested scales; its first entry is the weight.
		c.err = nil
		if fields, isObject := list[0].(map[string]any); isObject {
			weight = &config{fields: fields, path: c.path + "weight."}
		}
	}
	if weight == nil {
		c.refuse("weight", "is missing")
		return Encoding{}
	}
	defer c.adopt(weight)
	size, _ := weight.count(0, maxWidth, "group_size")
	zero := !weight.flag(true, "symmetric")
	switch kind := weight.text("", "dtype"); kind {
	case "fp8_e4m3", "fp8_e5m2":
		return Encoding{Method: "fp8", Bits: 8}
	case "fp4", "mxfp4":
		if size == 16 {
			return Encoding{Method: "nvfp4", Bits: 4, GroupSize: 16}
		}
		return Encoding{Method: "mxfp4", Bits: 4, GroupSize: 32}
	case "int8":
		return Encoding{Method: "int8", Bits: 8, GroupSize: size, ZeroPoints: zero && size > 0}
	case "int4", "uint4":
		return Encoding{Method: "int4", Bits: 4, GroupSize: size, ZeroPoints: zero || kind == "uint4"}
	default:
		weight.refuse("dtype", "%q is not supported", kind)
	}
	return Encoding{}
}
