package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/llmctl/llmctl/internal/openai"
)

// modelCard is an alias as the list of models shows it.
type modelCard struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// MaxModelLen has vLLM's name, by which clients and load tools look for it. It is
	// absent where one of the targets does not say how much it takes.
	MaxModelLen int64 `json:"max_model_len,omitempty"`
}

// card is the alias as clients may know it.
func (t *table) card(alias string) modelCard {
	return modelCard{ID: alias, Object: "model", Created: t.origin.Unix(), OwnedBy: "llmctl", MaxModelLen: t.models[alias].longest()}
}

// longest is the largest context among the model's targets, 0 when one of them
// does not say its own: that one may take more.
func (m *model) longest() (tokens int64) {
	for _, targets := range [][]*target{m.targets, m.fallbacks} {
		for _, t := range targets {
			if t.context == 0 {
				return 0
			}
			tokens = max(tokens, t.context)
		}
	}
	return tokens
}

// listModels answers with the aliases that the caller may use.
func (x *exchange) listModels() *failure {
	if f := x.authenticate(); f != nil {
		return f
	}
	list := struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{Object: "list", Data: []modelCard{}}
	for _, alias := range x.table.aliases {
		if x.who.allows(alias) {
			list.Data = append(list.Data, x.table.card(alias))
		}
	}
	return x.succeedWith(list)
}

// showModel answers with one alias. One that the caller may not use is not found, in the
// same words as one that nobody has, since it is not in the caller's list either.
func (x *exchange) showModel() *failure {
	if f := x.authenticate(); f != nil {
		return f
	}
	alias := x.r.PathValue("model")
	if _, ok := x.table.models[alias]; !ok || !x.who.allows(alias) {
		return unknownModel(alias)
	}
	return x.succeedWith(x.table.card(alias))
}

// errUnknownModel does not quote the name: whatever a client puts there would be in the
// log.
var errUnknownModel = errors.New("no such model, or one that the key may not use: GET /v1/models with the key lists them")

func unknownModel(name string) *failure {
	return &failure{status: http.StatusNotFound, outcome: outcomeUnknownModel, cause: errUnknownModel, body: openai.NewError("invalid_request_error",
		fmt.Sprintf("the model %q does not exist, or this key may not use it: GET /v1/models lists those that it may", brief(name, 128)), "model", "model_not_found")}
}

// notAllowed is what is said of a model that exists, but not for the caller.
func notAllowed(alias string) string {
	return fmt.Sprintf("this key may not use the model %q: GET /v1/models lists those that it may", brief(alias, 128))
}

// succeedWith answers with a document of the gateway's own.
func (x *exchange) succeedWith(document any) *failure {
	body, err := json.Marshal(document)
	if err != nil {
		return &failure{status: http.StatusInternalServerError, outcome: outcomeInternal, cause: err,
			body: openai.NewError("server_error", "the answer cannot be written", "", "")}
	}
	x.succeed("application/json", body)
	return nil
}
