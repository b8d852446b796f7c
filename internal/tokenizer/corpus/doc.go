// Package corpus makes the texts on which tokenizers are compared with the ones
// that they must equal: 10,000 lines in several scripts, with emoji and their
// joiners, code, odd white space, control characters, numbers and what looks like a
// broken text. They come from a fixed seed, so that they are the same everywhere
// and only hashes of their tokens need to be kept.
//
// To repeat the comparison:
//
//	go test ./internal/tokenizer/corpus -run TestLinesAreTheSame -write corpus.txt
//	scripts/tokenize-corpus model.gguf corpus.txt
//
// writes the lines, and then prints one hash for each 100 lines of the tokens by
// llama.cpp. testdata/smollm2.txt holds those of SmolLM2-135M-Instruct.
package corpus
