// Command quality measures what the engine's formats of weights and KV cache change in
// a model's predictions, for developers: it prints a table and writes
// docs/engine-quality.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/quality"
	"github.com/llmctl/llmctl/internal/atomicfile"
	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/internal/smollm2"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

func main() { os.Exit(run(iostreams.System(), os.Args[1:])) }

// run returns the exit code: 0 when all was measured, 1 when not, 2 for a bad command
// line.
func run(s *iostreams.IO, args []string) int {
	flags := flag.NewFlagSet("quality", flag.ContinueOnError)
	flags.SetOutput(s.Err)
	path := flags.String("model", "", "GGUF file or Hugging Face folder")
	page := flags.String("write", "", "write the page here")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *path == "" {
		_, _ = fmt.Fprintln(s.Err, "error: -model names no model, expected a GGUF file or a Hugging Face folder")
		return 2
	}
	if err := measure(s, *path, *page); err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
		return 1
	}
	return 0
}

func measure(s *iostreams.IO, path, page string) (err error) {
	m, err := load.Open(path, load.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if e := m.Close(); err == nil {
			err = e
		}
	}()
	texts, err := chunks(m.Tokenizer)
	if err != nil {
		return err
	}
	t := table{model: filepath.Base(path), stored: storedTypes(m.Weights)}
	for _, f := range quality.Formats() {
		results, err := quality.Measure(m.Weights, f, texts)
		if err != nil {
			return fmt.Errorf("measuring weights %s, KV cache %s: %w", f.Weights, f.KV, err)
		}
		t.rows = append(t.rows, row{f, results})
		_, _ = fmt.Fprintln(s.Out, t.line(len(t.rows)-1))
	}
	if page == "" {
		return nil
	}
	if err := atomicfile.Write(page, []byte(t.markdown())); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// A text is cut to chunks that are read with nothing before them, of a token more than
// has a place.
const (
	chunkTokens = 501
	chunksEach  = 2
)

// chunks are the tokens of the texts, by kind.
func chunks(t tokenizer.Tokenizer) (kinds [][][]int32, err error) {
	for _, kind := range smollm2.Kinds {
		text, err := smollm2.Text(kind)
		if err != nil {
			return nil, err
		}
		all := slices.Collect(slices.Chunk(t.Encode(nil, text, false), chunkTokens))
		all = all[:min(len(all), chunksEach)]
		if len(all[len(all)-1]) < 2 {
			all = all[:len(all)-1]
		}
		kinds = append(kinds, all)
	}
	return kinds, nil
}
