// Package load opens models: Hugging Face folders (config.json, safetensors,
// tokenizer.json) and GGUF files. Matrices stay where they are, in mapped files; only
// vectors, and the rows of queries and keys that GGUF has in another order, are
// copied. What a model lacks, or has and is not known here, is an error that names it:
// a model that is run nearly right would be taken for right.
package load
