// Package hf counts the tokens of texts by a tokenizer.json, the file of
// Hugging Face's tokenizers library that most models come with.
//
// It reads as much of the format as counting takes: byte-level BPE (GPT-2,
// Llama 3, Qwen, DeepSeek, gpt-oss), BPE of SentencePiece with fallback to
// bytes (Llama 2, Mistral, Gemma) and WordPiece (BERT). What it does not know it
// refuses by name, since a count that is nearly right would be taken for right.
// The format is that of https://github.com/huggingface/tokenizers, whose own
// counts the tests hold.
package hf
