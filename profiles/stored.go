package profiles

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/weights"
)

// Stored is what the safetensors files beside a config.json hold: bytes by what
// becomes of them. Extra prediction layers (MTP) are apart, since engines load
// them only for speculation.
type Stored struct {
	Files      int   // whose headers were read; 0 when only the index is there
	Indexed    int64 // bytes of all tensors as the index says; 0 when it does not
	Total      int64 // bytes of all tensors, as headers or the index say
	Parameters int64 // of the language model, by the shapes of its tensors; 0 without headers

	Embedding, Head int64
	Vision          int64 // towers and what joins them to the language model
	MTP             int64
	Outer           int64         // the rest outside of layers: norms, projections
	Layers          []StoredLayer // one per layer of the language model
}

// StoredLayer is the bytes of one layer.
type StoredLayer struct {
	Split   int64 // matrices that ranks divide
	KV      int64 // projections of K and V by heads
	Copied  int64 // what every rank holds: norms, routers, latent compressions
	Experts int64 // routed experts
}

// readStored reads the headers of a model folder; nil when it has none.
func readStored(dir string, m *Model) (*Stored, error) {
	folder, err := weights.ReadFolder(os.DirFS(dir))
	if err != nil || folder == nil {
		return nil, err
	}
	return classify(folder, m)
}

// classify sorts tensors by their names, which the engines' loaders go by too.
func classify(folder *weights.Folder, m *Model) (*Stored, error) {
	s := &Stored{Files: folder.Files, Indexed: folder.Indexed, Total: folder.Total}
	if folder.Files == 0 {
		return s, nil
	}
	s.Layers = make([]StoredLayer, len(m.Layers))
	for _, t := range folder.Tensors {
		if isSpeaker(t.Name) {
			continue // engines load the part that makes text
		}
		layer, ok := layerOf(t.Name)
		parameters := true
		switch {
		case isTower(t.Name):
			s.Vision += t.Bytes
			parameters = false
		case isMTP(t.Name), ok && layer >= len(m.Layers) && layer < len(m.Layers)+m.MTPLayers:
			s.MTP += t.Bytes
			parameters = false
		case ok && layer >= len(m.Layers):
			return nil, fmt.Errorf("tensor %.100q is of layer %d, the config has %d", t.Name, layer, len(m.Layers))
		case ok:
			s.Layers[layer].add(t)
		case isHead(t.Name):
			if m.TiedEmbeddings {
				parameters = false // a copy that engines do not load
				break
			}
			s.Head += t.Bytes
		case isEmbedding(t.Name):
			s.Embedding += t.Bytes
		default:
			s.Outer += t.Bytes
		}
		if parameters {
			s.Parameters += elements(t, m.Quantization)
		}
	}
	for i, l := range s.Layers {
		if l == (StoredLayer{}) {
			return nil, fmt.Errorf("layer %d has no tensor in the %d files", i, folder.Files)
		}
	}
	if s.Embedding == 0 {
		return nil, fmt.Errorf("no tensor of the %d files is an embedding", folder.Files)
	}
	return s, nil
}

// layerOf is the number after "layers." (or h., blocks.) in a tensor's name.
func layerOf(name string) (int, bool) {
	parts := strings.Split(name, ".")
	for i, p := range parts[:max(0, len(parts)-1)] {
		switch p {
		case "layers", "h", "blocks", "block":
			if n, err := strconv.Atoi(parts[i+1]); err == nil && n >= 0 {
				return n, true
			}
		}
	}
	return 0, false
}

// isSpeaker reports whether a tensor belongs to what makes speech of an omni
// model's text.
func isSpeaker(name string) bool {
	return strings.HasPrefix(name, "talker.") || strings.HasPrefix(name, "token2wav.") || strings.HasPrefix(name, "code2wav.")
}

func isTower(name string) bool {
	for _, word := range []string{"vision", "visual", "projector", "audio_tower", "image_newline", "vision_embed", "patch_embed"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func isMTP(name string) bool {
	return strings.HasPrefix(name, "mtp.") || strings.Contains(name, ".mtp.")
}

func isHead(name string) bool {
	return strings.Contains(name, "lm_head") || strings.HasPrefix(name, "embed_out") ||
		strings.HasPrefix(name, "output.") || strings.HasPrefix(name, "head.") || strings.Contains(name, "output_layer")
}

func isEmbedding(name string) bool {
	for _, word := range []string{"embed_tokens", "word_embeddings", "wte", "tok_embeddings", "embed_in",
		"embeddings.weight", "embed.weight", "wpe", "embed_positions", "embedding.weight"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// add counts a tensor of a layer.
func (l *StoredLayer) add(t weights.Tensor) {
	name := t.Name
	contains := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	switch {
	case contains(".experts.", ".experts_"):
		l.Experts += t.Bytes
	case contains("norm", ".gate.", ".router.", "q_a_proj", "kv_a_proj", ".wq_a.", ".wkv.", "indexer", "shared_expert_gate", "correction_bias"):
		l.Copied += t.Bytes
	case contains("k_proj", "v_proj"):
		l.KV += t.Bytes
	default:
		l.Split += t.Bytes
	}
}

// elements is the number of parameters that a tensor holds: packed integers
// hold several, scales and zero points none.
func elements(t weights.Tensor, q Quantization) int64 {
	for _, end := range []string{"scale", "scales", "scale_inv", "scale_2",
		"zeros", "zero_point", "g_idx", "weight_shape", "absmax", "quant_map", "quant_state", "inv_freq", "tid2eid"} {
		if strings.HasSuffix(t.Name, end) {
			return 0
		}
	}
	n := t.Elements()
	switch {
	case q.Method == "" || q.Bits == 0:
		return n
	case t.DType == "I32" || t.DType == "U32":
		return n * 32 / int64(q.Bits)
	case (t.DType == "U8" || t.DType == "I8") && q.Bits < 8:
		return n * 8 / int64(q.Bits)
	}
	return n
}
