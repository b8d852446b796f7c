package conform

import (
	"context"
	"net/http"
	"net/url"
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
