package config

import "github.com/llmctl/llmctl/profiles"

// Capabilities that requests show by what they hold. A target may have others,
// which requests ask for by header.
const (
	CapabilityTools      = "tools"
	CapabilityVision     = "vision"
	CapabilityJSONSchema = "json_schema"
	CapabilityEmbeddings = "embeddings"
	CapabilityResponses  = "responses"
)

var capabilities = []string{CapabilityTools, CapabilityVision, CapabilityJSONSchema, CapabilityEmbeddings, CapabilityResponses}

// otherCapabilities are those of above as people and other gateways call them.
var otherCapabilities = map[string]string{
	"function_calling": CapabilityTools, "functions": CapabilityTools, "tool_calls": CapabilityTools, "tool_use": CapabilityTools,
	"image": CapabilityVision, "images": CapabilityVision, "multimodal": CapabilityVision,
	"structured_outputs": CapabilityJSONSchema, "structured_output": CapabilityJSONSchema, "response_format": CapabilityJSONSchema, "json": CapabilityJSONSchema,
	"embed": CapabilityEmbeddings,
}

// meantCapability is the known capability that a word looks like, "" for one that
// is known or is like none.
func meantCapability(word string) string {
	if meant, ok := otherCapabilities[word]; ok {
		return meant
	}
	if meant := profiles.Suggest(word, capabilities); meant != word {
		return meant
	}
	return ""
}
