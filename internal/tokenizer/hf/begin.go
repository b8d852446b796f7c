package hf

import (
	"encoding/json"
	"fmt"

	"github.com/llmctl/llmctl/internal/userfile"
)

// readBegin reads what the post-processor of a tokenizer.json puts before a text.
// What one puts after it ends a text, which nobody wants that goes on with it.
func readBegin(part json.RawMessage) ([]int32, error) {
	if absent(part) {
		return nil, nil
	}
	type special struct {
		ID string `json:"id"`
	}
	var file struct {
		Type       string            `json:"type"`
		Processors []json.RawMessage `json:"processors"`
		Single     []struct {
			Special  *special        `json:"SpecialToken"`
			Sequence json.RawMessage `json:"Sequence"`
		} `json:"single"`
		Specials map[string]struct {
			IDs []int32 `json:"ids"`
		} `json:"special_tokens"`
		Class []json.RawMessage `json:"cls"`
	}
	if err := json.Unmarshal(part, &file); err != nil {
		return nil, fmt.Errorf("post_processor: %w", userfile.JSONError(err))
	}
	var begin []int32
	switch file.Type {
	case "Sequence":
		for _, inner := range file.Processors {
			more, err := readBegin(inner)
			if err != nil {
				return nil, err
			}
			begin = append(more, begin...) // a later one sees what an earlier one put
		}
	case "TemplateProcessing":
		for _, p := range file.Single {
			if p.Special == nil {
				break
			}
			begin = append(begin, file.Specials[p.Special.ID].IDs...)
		}
	case "BertProcessing", "RobertaProcessing":
		var id int32
		if len(file.Class) != 2 || json.Unmarshal(file.Class[1], &id) != nil {
			return nil, fmt.Errorf("post_processor: cls is no token and its id")
		}
		begin = []int32{id}
	case "ByteLevel":
	default:
		return nil, fmt.Errorf("post_processor of type %q is not supported", file.Type)
	}
	return begin, nil
}
