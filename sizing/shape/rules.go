package shape

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// rules say in which format a checkpoint holds a module: its own, one that the
// file states for the module, or the model's dtype.
type rules struct {
	rest    profiles.Encoding // of modules that nothing names
	formats []profiles.Encoding
	match   []matcher // one per format
	kept    matcher
}

func newRules(q profiles.Quantization) rules {
	r := rules{rest: q.Encoding, kept: newMatcher(q.Kept)}
	if q.OnlyParts {
		r.rest = profiles.Encoding{}
	}
	for _, p := range q.Parts {
		r.formats = append(r.formats, p.Encoding)
		r.match = append(r.match, newMatcher(p.Modules))
	}
	return r
}

// encoding is the format of a module of a layer; the zero Encoding is the
// model's own dtype. Routers and what is no matrix are never quantized.
func (r rules) encoding(layer int, x module) profiles.Encoding {
	if x.part == routerPart || x.part == smallPart {
		return profiles.Encoding{}
	}
	names := namesOf(layer, x.name)
	if r.kept.any(names) {
		return profiles.Encoding{}
	}
	for i, m := range r.match {
		if m.any(names) {
			return r.formats[i]
		}
	}
	return r.rest
}

// head is the format of the output projection, which stays in the model's dtype
// unless a file names it among what it quantizes.
func (r rules) head() profiles.Encoding {
	for i, m := range r.match {
		if m.matches("lm_head") {
			return r.formats[i]
		}
	}
	return profiles.Encoding{}
}

// plain reports whether all modules have one format.
func (r rules) plain() bool { return r.kept.empty() && len(r.match) == 0 }

// matcher finds modules by the patterns that checkpoints use: a module, a
// module above it, a bare word on the way to it, a glob, or a regular
// expression after "re:".
type matcher struct {
	exact map[string]bool
	globs []string
	exprs []*regexp.Regexp
}

func newMatcher(patterns []string) matcher {
	m := matcher{exact: map[string]bool{}}
	for _, p := range patterns {
		if text, ok := strings.CutPrefix(p, "re:"); ok {
			// A pattern that Go can not read names nothing that we can tell.
			if expr, err := regexp.Compile("^(?:" + respell(text) + ")"); err == nil {
				m.exprs = append(m.exprs, expr)
			}
			continue
		}
		for _, p := range spellings(p) {
			if strings.ContainsAny(p, "*?[") {
				m.globs = append(m.globs, p)
			} else {
				m.exact[p] = true
			}
		}
	}
	return m
}

func (m matcher) empty() bool { return len(m.exact) == 0 && len(m.globs) == 0 && len(m.exprs) == 0 }

func (m matcher) any(names []string) bool {
	for _, name := range names {
		if m.matches(name) {
			return true
		}
	}
	return false
}

// matches takes a name such as "layers.3.mlp.up_proj".
func (m matcher) matches(name string) bool {
	for above := name; above != ""; {
		if m.exact[above] {
			return true
		}
		cut := strings.LastIndexByte(above, '.')
		if m.exact[above[cut+1:]] {
			return true
		}
		above = above[:max(0, cut)]
	}
	for _, g := range m.globs {
		for above := name; above != ""; above = above[:max(0, strings.LastIndexByte(above, '.'))] {
			// path.Match lets * stop at slashes only, of which names have none.
			if ok, _ := path.Match(g, above); ok {
				return true
			}
		}
	}
	for _, e := range m.exprs {
		if e.MatchString("model." + name) {
			return true
		}
	}
	return false
}

// namesOf lists the names under which files know a module.
func namesOf(layer int, name string) []string {
	full := fmt.Sprintf("layers.%d.%s", layer, name)
	names := []string{full}
	switch name {
	case "mlp.experts", "experts":
		// Files list the experts one by one, or their matrices.
		names = append(names, full+".0.gate_proj", full+".0.up_proj", full+".gate_up_proj")
	case "linear_attn.qkv_proj":
		names = append(names, fmt.Sprintf("layers.%d.linear_attn.q_proj", layer))
	}
	return names
}

// other spellings of the parts of a layer, brought to those of module names.
var respelling = strings.NewReplacer(
	"block_sparse_moe.", "mlp.", "feed_forward.", "mlp.", ".ffn.", ".mlp.", "shared_expert.", "shared_experts.",
	".attn.", ".self_attn.", "temporal_block.", "linear_attn.", "mamba.", "linear_attn.",
	"in_proj_qkvz", "in_proj_qkv", "in_proj_ba", "in_proj_b",
)

func respell(pattern string) string {
	if strings.HasSuffix(pattern, ".shared_expert") {
		pattern += "s"
	}
	return respelling.Replace(pattern)
}

// spellings are a pattern without what stands above the layers, and where one
// word stands for different parts of a layer, one pattern for each.
func spellings(pattern string) []string {
	if outside(pattern) {
		return nil
	}
	if at := strings.Index(pattern, "layers."); at >= 0 {
		pattern = pattern[at:]
	}
	pattern = respell(pattern)
	before, after, ok := strings.Cut(pattern, ".mixer")
	if !ok {
		return []string{pattern}
	}
	return []string{before + ".self_attn" + after, before + ".linear_attn" + after, before + ".mlp" + after}
}

// outside reports whether a pattern names modules that are no part of the
// language model's layers.
func outside(pattern string) bool {
	for _, word := range []string{"vision", "visual", "mm_projector", "multi_modal", "audio", "mtp"} {
		if strings.Contains(pattern, word) {
			return true
		}
	}
	return false
}
