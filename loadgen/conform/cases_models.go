package conform

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

var modelCases = []Case{
	{
		ID: "models/list", Title: "the models are listed", Level: Must, Suite: Engine,
		Why:    "SDKs, chat clients and load tools pick the model from the list",
		Sends:  "GET /v1/models",
		Expect: `200, application/json, {"object":"list","data":[{"id":…,"object":"model"}…]}`,
		try:    listsModels,
	},
	{
		ID: "models/card", Title: "one model can be asked for", Level: Info, Suite: Engine,
		Why:    "openai.models.retrieve() is how SDK users check that a model is there",
		Sends:  "GET /v1/models/MODEL",
		Expect: "200 and the model's object",
		try:    showsModel,
	},
	{
		ID: "models/other-tenants", Title: "another tenant's model does not exist", Level: Must, Suite: Gateway,
		Why:    "names of models tell what others build; a 403 confirms a guess",
		Sends:  "GET /v1/models/MODEL with a model that the second key lists and the main one does not, and with one that does not exist",
		Expect: "404 for both, in the same words but for the name",
		try: hidesModels(func(ctx context.Context, p *probe, model string) (*answer, error) {
			return p.ask(ctx, request{path: "/v1/models/" + url.PathEscape(model)})
		}),
	},
	{
		ID: "models/others-by-chat", Title: "a chat does not tell another tenant's model from none", Level: Info, Suite: Gateway,
		Why:    "403 tells users that a permission is missing, and strangers that the name is right",
		Sends:  "a chat with a model that the second key lists and the main one does not, and with one that does not exist",
		Expect: "404 for both, in the same words but for the name",
		needs:  whole, try: hidesModels(func(ctx context.Context, p *probe, model string) (*answer, error) {
			return p.post(ctx, chatPath, p.chat(members{"model": model, "max_tokens": 1}))
		}),
	},
}

func listsModels(ctx context.Context, p *probe) (string, error) {
	a, err := p.ask(ctx, request{path: "/v1/models"})
	if err != nil {
		return "", err
	}
	if a.status != http.StatusOK || a.mediaType() != jsonType {
		return "", wrong("%s, content type %q", a.said(), a.mediaType())
	}
	models := a.get("data").Array()
	if a.get("object").String() != "list" || len(models) == 0 {
		return "", wrong("no list of models: %s", clip(string(a.body), 120))
	}
	for _, m := range models {
		if m.Get("id").String() == "" || m.Get("object").String() != "model" {
			return "", wrong("an entry is no model: %s", clip(m.Raw, 120))
		}
	}
	return sprintf("%d models", len(models)), nil
}

func showsModel(ctx context.Context, p *probe) (string, error) {
	a, err := p.ask(ctx, request{path: "/v1/models/" + url.PathEscape(p.model)})
	if err != nil {
		return "", err
	}
	if a.status != http.StatusOK || a.get("id").String() != p.model {
		return "", wrong("%s", a.said())
	}
	return "200 and its id", nil
}

// hidesModels makes a try that compares what one key is told of a model that only
// another may use with what it is told of one that does not exist.
func hidesModels(ask func(ctx context.Context, p *probe, model string) (*answer, error)) try {
	return func(ctx context.Context, p *probe) (string, error) {
		name, err := p.foreignModel(ctx)
		if err != nil {
			return "", err
		}
		theirs, err := ask(ctx, p, name)
		if err != nil {
			return "", err
		}
		none, err := ask(ctx, p, noModel)
		if err != nil {
			return "", err
		}
		if _, err := refusal(theirs, http.StatusNotFound); err != nil {
			return "", err
		}
		told, usual := words(theirs, name), words(none, noModel)
		if theirs.status != none.status || told != usual {
			return "", wrong("%d %q, and of one that does not exist %d %q", theirs.status, clip(told, 100), none.status, clip(usual, 100))
		}
		return "404, as if it did not exist", nil
	}
}

// words are what an answer says of a model, without its name.
func words(a *answer, model string) string {
	return strings.ReplaceAll(a.get("error.message").String()+" "+a.get("error.code").String(), model, "MODEL")
}

// foreignModel is a model that the second key lists and the main one does not.
func (p *probe) foreignModel(ctx context.Context) (string, error) {
	if p.o.SecondKey == "" {
		return "", skipped("no second key (--second-key-env)")
	}
	own := map[string]bool{}
	for _, m := range p.models {
		own[m.ID] = true
	}
	a, err := p.ask(ctx, request{path: "/v1/models", key: &p.o.SecondKey})
	if err != nil {
		return "", err
	}
	for _, m := range a.get("data").Array() {
		if id := m.Get("id").String(); id != "" && !own[id] {
			return id, nil
		}
	}
	return "", skipped("the second key lists no model that the main one does not")
}
