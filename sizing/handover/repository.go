package handover

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
)

// tuned matches repositories that say that they answer chats: the publisher's
// name of the base and, at its end, instruct, chat or it.
var tuned = regexp.MustCompile(`(?i)[-_](instruct|chat|it)(-hf|-v[0-9.]+)?$`)

// chats matches what says anywhere in its name that it answers chats.
var chats = regexp.MustCompile(`(?i)[-_](instruct|chat|it)\b`)

// bases are the publishers' names of base models where the plain name is the base
// and the tuned one says so; their repositories have no chat template.
var bases = regexp.MustCompile(`(?i)^(meta-llama|codellama)/|^mistralai/mi[sx]tral-|^google/gemma-[1-4]?|^qwen/qwen(-|1\.5-|2-|2\.5-)|^01-ai/yi-|-base$`)

// completes reports whether the load may be prompts that need no chat template:
// lengths of the user's own say nothing about it.
func (d Deployment) completes() bool { return d.Plan.Inputs.Workload == "custom" }

// loads is what an engine is told to load: the repository that the user named,
// else the first of the model's that answers chats where these are planned for,
// or simply the first, else the folder of the config.json.
func (d Deployment) loads() string {
	ids := d.Model.IDs
	switch {
	case slices.Contains(ids, d.Ref):
		return d.Ref
	case len(ids) > 0:
		if i := slices.IndexFunc(ids, tuned.MatchString); i > 0 && !d.completes() {
			return ids[i]
		}
		return ids[0]
	case filepath.Base(d.Ref) == "config.json":
		return filepath.Dir(d.Ref)
	}
	return d.Ref
}

// template says that a base model does not answer chats.
func (d Deployment) template() []string {
	id := d.loads()
	if d.completes() || !bases.MatchString(id) || chats.MatchString(id) {
		return nil
	}
	return []string{fmt.Sprintf("%s is a base model, which has no chat template: /v1/chat/completions wants the repository of a tuned one, or --chat-template FILE", id)}
}
