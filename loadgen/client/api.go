package client

import (
	"maps"
	"slices"
)

// API is the endpoint's dialect.
type API string

// The dialects.
const (
	Chat        API = "chat"        // POST /v1/chat/completions
	Completions API = "completions" // POST /v1/completions
	Responses   API = "responses"   // POST /v1/responses
	Embeddings  API = "embeddings"  // POST /v1/embeddings; the answer is one JSON document
)

// dialect is how an API is spoken.
type dialect struct {
	path     string
	document bool // the answer is one JSON document, not a stream of events
}

var dialects = map[API]dialect{
	Chat:        {path: "/v1/chat/completions"},
	Completions: {path: "/v1/completions"},
	Responses:   {path: "/v1/responses"},
	Embeddings:  {path: "/v1/embeddings", document: true},
}

// dialect is that of an API, the one of Chat for an empty name.
func (a API) dialect() dialect {
	if a == "" {
		a = Chat
	}
	return dialects[a]
}

// APIs are the dialects by name.
func APIs() []API { return slices.Sorted(maps.Keys(dialects)) }
