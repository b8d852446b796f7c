package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/server"
	"github.com/llmctl/llmctl/internal/tokenizer/hf"
	"github.com/llmctl/llmctl/internal/userfile"
)

// textFlags say how a loaded model's texts are made and read.
type textFlags struct {
	tokenizer, template         string
	toolParser, reasoningParser string
	autoTools                   bool
	generation                  string
	forgeable                   bool
}

func (f *textFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.tokenizer, "tokenizer", "", "folder with another tokenizer.json (default: the model's own)")
	flags.StringVar(&f.template, "chat-template", "", "file with another chat template, in Jinja (default: the model's own)")
	flags.BoolVar(&f.autoTools, "enable-auto-tool-choice", true, "let the model decide to call tools, where its template knows them")
	flags.StringVar(&f.toolParser, "tool-call-parser", "", "format of tool calls: "+strings.Join(chat.ToolFormats, ", ")+" (default: told by the template)")
	flags.StringVar(&f.reasoningParser, "reasoning-parser", "", "tell reasoning from answers: "+strings.Join(chat.ReasoningFormats, ", ")+" (default: not told)")
	flags.StringVar(&f.generation, "generation-config", "auto", "sampling of requests that do not say, and max_new_tokens for all: auto, as the model's generation_config.json has it, or vllm, neutral")
	flags.BoolVar(&f.forgeable, "allow-special-tokens", false, "take special tokens in the text of clients for such, as vLLM does")
}

// onlyForFiles refuses what the built-in model has no use for.
func (f *textFlags) onlyForFiles() error {
	if f.tokenizer != "" || f.template != "" || f.toolParser != "" || f.reasoningParser != "" {
		return errors.New("--tokenizer, --chat-template, --tool-call-parser and --reasoning-parser are for a model from files, and the built-in one is synthetic")
	}
	return nil
}

// apply puts a model's texts into the server's options.
func (f *textFlags) apply(m *load.Model, o *server.Options) (err error) {
	o.Tokenizer, o.BOS, o.EOS, o.Forgeable = m.Tokenizer, m.BOS, m.EOS, f.forgeable
	if f.tokenizer != "" {
		if o.Tokenizer, err = readTokenizer(f.tokenizer); err != nil {
			return err
		}
	}
	source, withTools := m.ChatTemplate, m.ToolTemplate
	if f.template != "" {
		data, err := userfile.Read(f.template, maxTemplate)
		if err != nil {
			return fmt.Errorf("--chat-template: %w", err)
		}
		source, withTools = string(data), ""
	}
	for _, t := range []struct {
		source string
		to     **chat.Template
	}{{source, &o.Template}, {withTools, &o.ToolTemplate}} {
		if t.source == "" {
			continue
		}
		if *t.to, err = chat.ParseTemplate(t.source); err != nil {
			return err
		}
	}
	if f.autoTools {
		if o.ToolParser = f.toolParser; o.ToolParser == "" {
			if withTools == "" {
				withTools = source
			}
			o.ToolParser = chat.DetectFormat(withTools)
		}
	}
	o.ReasoningParser = f.reasoningParser
	switch f.generation {
	case "vllm":
	case "auto":
		o.Sampling = recommended(m.Sampling)
	default:
		return fmt.Errorf("--generation-config %q, expected auto or vllm", f.generation)
	}
	return o.Check()
}

const maxTemplate = 1 << 20 // bytes

func readTokenizer(path string) (*hf.Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
	}
	data, err := userfile.Read(path, hf.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("--tokenizer: %w", err)
	}
	t, err := hf.Load(data, hf.Options{})
	if err != nil {
		return nil, fmt.Errorf("--tokenizer %s: %w", path, err)
	}
	return t, nil
}

// recommended is what a model's publisher recommends, as the server takes it.
func recommended(s load.Sampling) server.Sampling {
	wide := func(v *float32) *float64 {
		if v == nil {
			return nil
		}
		w := float64(*v)
		return &w
	}
	most := s.MaxNewTokens
	if most != nil && *most < 1 {
		most = nil // says nothing
	}
	return server.Sampling{
		MaxTokens:   most,
		Temperature: wide(s.Temperature), TopP: wide(s.TopP), MinP: wide(s.MinP), RepetitionPenalty: wide(s.RepetitionPenalty), TopK: s.TopK,
	}
}

// speculativeFlags say how tokens are proposed.
type speculativeFlags struct {
	config, model string
	tokens        int
}

func (f *speculativeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "speculative-config", "", `speculative decoding as vLLM has it, e.g. {"method": "ngram", "num_speculative_tokens": 4}`)
	flags.StringVar(&f.model, "speculative-model", "", "draft model of speculative decoding: a folder or a .gguf file, or ngram, which looks texts up in themselves")
	countVar(flags, &f.tokens, "num-speculative-tokens", "tokens that are proposed at a time (default 4)")
}

const (
	ngramMethod = "ngram"
	draftMethod = "draft_model"
)

// apply sets the engine up, and loads a draft model.
func (f *speculativeFlags) apply(c *engine.Config, v *servedModel) error {
	asked := struct {
		Method string `json:"method"`
		Model  string `json:"model"`
		Tokens int    `json:"num_speculative_tokens"`
		Max    int    `json:"prompt_lookup_max"`
		Min    int    `json:"prompt_lookup_min"`
	}{Model: f.model, Tokens: f.tokens}
	if f.config != "" {
		if f.model != "" || f.tokens != 0 {
			return errors.New("--speculative-config says what --speculative-model and --num-speculative-tokens do, expected one of them")
		}
		d := json.NewDecoder(strings.NewReader(f.config))
		d.DisallowUnknownFields()
		if err := d.Decode(&asked); err != nil {
			return fmt.Errorf("--speculative-config %s: %w", f.config, err)
		}
	}
	if asked.Model == ngramMethod || asked.Model == "["+ngramMethod+"]" {
		asked.Model, asked.Method = "", ngramMethod
	}
	switch {
	case asked.Model == "" && asked.Method == "":
		if asked.Tokens != 0 || f.config != "" {
			return errors.New("speculative decoding has no method: --speculative-model names a draft model, or ngram")
		}
		return nil
	case c.Executor != nil:
		return errors.New("speculative decoding is not for a modeled device: simulate --speculative has it")
	case asked.Method == ngramMethod:
		c.Speculate = engine.Speculate{Method: engine.NGram, Tokens: asked.Tokens, NgramMin: asked.Min, NgramMax: asked.Max}
		return nil
	case asked.Method != "" && asked.Method != draftMethod:
		return fmt.Errorf("speculative decoding by %q is not supported, expected %s or %s", asked.Method, ngramMethod, draftMethod)
	case asked.Model == "":
		return errors.New("speculative decoding by a draft model names none")
	case c.Weights == nil:
		return errors.New("a draft model is for a model from files; the built-in one can speculate by ngram")
	}
	m, err := load.Open(asked.Model, load.Options{MaxModelLen: c.Sched.MaxModelLen})
	if err != nil {
		return fmt.Errorf("draft model: %w", err)
	}
	v.closers = append(v.closers, m.Close)
	c.Speculate = engine.Speculate{Method: engine.DraftModel, Tokens: asked.Tokens, Draft: m.Weights}
	return nil
}

// stepWriter writes steps as lines of JSON. That it could not is said once.
func stepWriter(w, errs io.Writer) func(*engine.Step) {
	encoder, failed := json.NewEncoder(w), false
	return func(s *engine.Step) {
		if err := encoder.Encode(s); err != nil && !failed {
			failed = true
			fmt.Fprintf(errs, "warning: --step-log: %v\n", err)
		}
	}
}
