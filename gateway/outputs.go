package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

// Engines read more than OpenAI's fields, and some read theirs first: llama.cpp's
// server takes n_predict before max_tokens. A bound that held for OpenAI's names
// alone would be none.
var (
	// outputNames bound the output of one answer: OpenAI's; llama.cpp's; those of
	// Hugging Face (LMDeploy, TGI), Ollama, KoboldCpp (TabbyAPI), Llama's reference
	// server (Bedrock), lm-eval's servers, Anthropic's older API and Gemini.
	outputNames = []string{
		"max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict",
		"max_new_tokens", "num_predict", "max_length", "max_gen_len", "max_gen_toks", "max_tokens_to_sample", "maxOutputTokens", "maxTokens",
	}
	// answerNames are how many answers are made, beside n: best_of of OpenAI's older
	// API, n_cmpl of llama.cpp, the others of Hugging Face and TensorRT-LLM, whose
	// beams each take the work of an answer.
	answerNames = []string{"best_of", "n_cmpl", "num_return_sequences", "num_beams", "beam_width"}
	// leastNames are how many tokens an answer has at least.
	leastNames = []string{"min_tokens", "min_new_tokens", "min_length"}
	// containers are objects in which engines and clients put parameters: Ollama's,
	// TGI's, SGLang's, Gemini's, and what OpenAI's SDK and LiteLLM's proxy unpack.
	containers = []string{"options", "parameters", "sampling_params", "generation_config", "generationConfig", "inferenceConfig", "extra_body"}
)

// workFields are the fields that say how much work a request is.
func workFields() []string {
	return slices.Concat([]string{"n", "ignore_eos"}, outputNames, answerNames, leastNames)
}

// fieldSet is the top-level fields that a dialect reads.
type fieldSet []string

// name returns the field that a reader which ignores case would take key for. Most
// keys are in lower case, and need no such comparison.
func (s fieldSet) name(key string) (string, bool) {
	folds := strings.ContainsFunc(key, func(r rune) bool { return r >= utf8.RuneSelf || r >= 'A' && r <= 'Z' })
	for _, name := range s {
		if key == name || folds && strings.EqualFold(key, name) {
			return name, true
		}
	}
	return "", false
}

// loose refuses a bound that lies in an object, where an engine may read it and the
// gateway would have to edit what is the engine's own.
func loose(container string, v gjson.Result) (err error) {
	if !slices.Contains(containers, container) {
		return nil
	}
	v.ForEach(func(key, value gjson.Result) bool {
		if name, found := inContainers.name(key.Str); found && value.Type != gjson.Null {
			at := container + "." + name
			err = &fieldError{field: at, code: "unsupported_parameter", message: fmt.Sprintf(`%q must stand beside "model", as "max_tokens" or "n": limits hold there`, at)}
		}
		return err == nil
	})
	return err
}

var inContainers = fieldSet(slices.Concat([]string{"n"}, outputNames, answerNames))

// readWork reads how much the request may generate.
func (r *request) readWork() error {
	if !r.dialect.generates {
		return nil
	}
	for _, key := range append([]string{"n"}, answerNames...) {
		n, err := r.count(key)
		if err != nil {
			return err
		}
		if n > maxChoices {
			return bad(key, fmt.Sprintf("%q must be at most %d", key, maxChoices))
		}
		r.generated = max(r.generated, n)
		if key == "n" {
			r.choices = max(n, 1)
		}
	}
	prompts := promptCount(r.fields["prompt"])
	r.choices *= prompts
	r.generated *= prompts
	for _, key := range outputNames {
		n, err := r.count(key)
		if err != nil {
			return err
		}
		if n > r.maxTokens {
			r.maxTokens, r.maxKey = n, key
		}
	}
	return nil
}

// bound applies an alias's default and cap. Each field keeps the name that the
// client gave it: old servers know only max_tokens, new models of OpenAI only
// max_completion_tokens. Of names that not every engine heeds, max_tokens is set, too.
func (r *request) bound(limit config.MaxTokens) error {
	if !r.dialect.generates {
		return nil
	}
	ceiling := int64(limit.Cap)
	if r.maxTokens == 0 {
		fill := int64(limit.Default)
		if fill == 0 {
			fill = ceiling
		}
		if fill > 0 {
			r.maxTokens = fill
			r.edits = append(r.edits, r.setting(r.dialect.maxKeys[0], strconv.AppendInt(nil, fill, 10)))
			r.filled = len(r.edits)
		}
		return r.least()
	}
	for _, key := range outputNames {
		if v := r.fields[key]; ceiling > 0 && v.Type == gjson.Number && int64(v.Num) > ceiling {
			r.edits = append(r.edits, r.setting(key, strconv.AppendInt(nil, ceiling, 10)))
		}
	}
	if ceiling > 0 {
		r.maxTokens = min(r.maxTokens, ceiling)
	}
	r.asked = r.maxTokens
	if !slices.ContainsFunc(r.dialect.maxKeys, func(key string) bool { return r.fields[key].Type == gjson.Number }) {
		r.edits = append(r.edits, r.setting(r.dialect.maxKeys[0], strconv.AppendInt(nil, r.maxTokens, 10)))
	}
	return r.least()
}

// least refuses what would make an engine go on beyond the bound.
func (r *request) least() error {
	for _, key := range leastNames {
		v := r.fields[key]
		switch {
		case v.Type == gjson.Null:
		case v.Type != gjson.Number || v.Num < 0:
			return bad(key, fmt.Sprintf("%q must be a whole number from 0", key))
		case r.maxTokens > 0 && v.Num > float64(r.maxTokens):
			return bad(key, fmt.Sprintf("%q must be at most %d, the most tokens that this answer may have", key, r.maxTokens))
		}
	}
	endless, err := r.flag("ignore_eos", r.fields["ignore_eos"])
	if err != nil {
		return err
	}
	if endless && r.maxTokens == 0 {
		return bad("ignore_eos", fmt.Sprintf(`"ignore_eos" needs %q: without it the answer would never end`, r.dialect.maxKeys[0]))
	}
	return nil
}
