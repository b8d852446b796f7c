// Package smollm2 is what llama.cpp makes of SmolLM2-135M-Instruct: four texts of
// prose, code, arithmetic and languages other than English, written for this purpose,
// with the likeliest token and the true token's log-probability at 4,000 places,
// whole distributions at some of them, and the answers to three chats.
//
// scripts/fetch-smollm2 brings the model, scripts/smollm2-goldens makes testdata.
package smollm2
