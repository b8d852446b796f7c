package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// writeTokenizer makes a folder that Hugging Face's libraries load a tokenizer
// from: a word is a token, and there are 2,000 of them. The peers can not start
// without one, and what it says does not matter here: the mock counts words.
func writeTokenizer(dir string) error {
	vocabulary := map[string]int{"<unk>": 0, "<s>": 1, "</s>": 2}
	var special []map[string]any
	for id, word := range []string{"<unk>", "<s>", "</s>"} {
		special = append(special, map[string]any{
			"id": id, "content": word, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true,
		})
	}
	for i := range 2000 {
		vocabulary[fmt.Sprintf("w%d", i)] = len(vocabulary)
	}
	files := map[string]any{
		"tokenizer.json": map[string]any{
			"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": special,
			"normalizer": nil, "pre_tokenizer": map[string]any{"type": "Whitespace"}, "post_processor": nil, "decoder": nil,
			"model": map[string]any{"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
		},
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 131072,
		},
		"config.json": map[string]any{"model_type": "llama", "vocab_size": len(vocabulary), "max_position_embeddings": 131072},
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
