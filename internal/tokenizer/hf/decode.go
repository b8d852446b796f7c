package hf

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/userfile"
)

// decoder says what tokens add to a text.
type decoder struct {
	steps []func(token string) string
	strip string // dropped once where it begins a text
	fused bool   // while reading: what follows sees the whole text
}

// readDecoder reads the decoder of a tokenizer.json: one or a sequence.
func readDecoder(part json.RawMessage) (d decoder, err error) {
	if absent(part) {
		return d, nil
	}
	return d, d.read(part)
}

func (d *decoder) read(part json.RawMessage) error {
	var file struct {
		Type          string            `json:"type"`
		Decoders      []json.RawMessage `json:"decoders"`
		Pattern       patternJSON       `json:"pattern"`
		Content       string            `json:"content"`
		Start         int               `json:"start"`
		Stop          int               `json:"stop"`
		Replacement   string            `json:"replacement"`
		PrependScheme string            `json:"prepend_scheme"`
		AddPrefix     *bool             `json:"add_prefix_space"`
	}
	if err := json.Unmarshal(part, &file); err != nil {
		return fmt.Errorf("decoder: %w", userfile.JSONError(err))
	}
	switch file.Type {
	case "Sequence":
		for _, inner := range file.Decoders {
			if err := d.read(inner); err != nil {
				return err
			}
		}
	case "ByteLevel":
		d.steps = append(d.steps, func(token string) string {
			if raw, ok := unseen(token); ok {
				return string(raw)
			}
			return token
		})
	case "ByteFallback":
		d.steps = append(d.steps, byteOf)
	case "Replace":
		if file.Pattern.String == nil || *file.Pattern.String == "" || d.fused {
			return fmt.Errorf("decoder: Replace is supported for a String before Fuse only")
		}
		d.steps = append(d.steps, strings.NewReplacer(*file.Pattern.String, file.Content).Replace)
	case "Metaspace":
		d.steps = append(d.steps, strings.NewReplacer(file.Replacement, " ").Replace)
		if file.PrependScheme != "never" && (file.AddPrefix == nil || *file.AddPrefix) {
			d.strip = " "
		}
	case "Fuse":
		d.fused = true
	case "Strip":
		if !d.fused || file.Stop != 0 || file.Start < 0 || file.Start > 1 {
			return fmt.Errorf("decoder: Strip is supported for one character at the beginning of a fused text, not for start %d and stop %d", file.Start, file.Stop)
		}
		if file.Start == 1 {
			d.strip = file.Content
		}
	default:
		return fmt.Errorf("decoder of type %q is not supported", file.Type)
	}
	return nil
}

// text is what a token adds in the middle of a text.
func (d *decoder) text(token string) string {
	for _, step := range d.steps {
		token = step(token)
	}
	return token
}

// byteOf is the byte of a token <0xNN>, and any other token itself.
func byteOf(token string) string {
	if len(token) == len("<0x00>") && strings.HasPrefix(token, "<0x") && token[5] == '>' {
		if b, err := strconv.ParseUint(token[3:5], 16, 8); err == nil {
			return string([]byte{byte(b)})
		}
	}
	return token
}
