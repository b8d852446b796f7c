// Command llmctl plans, measures and serves large language models: it sizes a
// deployment, loads any OpenAI-compatible endpoint, and brings a gateway and an
// engine of its own to try everything on. This package turns flags into one
// call of the domain and one report; it holds no logic of its own.
package main

import (
	"os"

	"github.com/llmctl/llmctl/internal/iostreams"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }
