// Package hf holds the tokenizers of models: by a tokenizer.json, the file of
// Hugging Face's tokenizers library that most models come with, and by the
// vocabulary in the metadata of a GGUF file, which says the same with less.
//
// It reads byte-level BPE (GPT-2, Llama 3, Qwen, SmolLM2, DeepSeek, gpt-oss) and BPE
// of SentencePiece with fallback to bytes (Llama 2, Mistral, Phi-3, Gemma), and
// WordPiece (BERT) to count by. What it does not know it refuses by name, since
// tokens that are nearly right would be taken for right. The formats are those of
// https://github.com/huggingface/tokenizers and https://github.com/ggml-org/ggml,
// whose own tokens the tests hold.
//
// Parse and Read are for counting, Load and New for running a model.
package hf
