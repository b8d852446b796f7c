package client

import (
	"encoding/json"
	"slices"
)

// toolCalls are the calls of an answer, put together from their pieces. The
// first piece of a call names it, each further one goes on with its arguments.
type toolCalls []toolCall

// toolCall is a call as an assistant message holds it.
type toolCall struct {
	index    int
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON in a string
	} `json:"function"`
}

// addWhole takes a call of the Responses API, nil for none. One that is of no
// known shape is left out.
func (t *toolCalls) addWhole(value []byte) {
	var whole struct {
		ID        string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Input     string          `json:"input"` // of a custom tool
	}
	if len(value) == 0 || json.Unmarshal(value, &whole) != nil {
		return
	}
	call := t.at(len(*t))
	call.ID, call.Function.Name = whole.ID, whole.Name
	call.Function.Arguments = argumentText(whole.Arguments) + whole.Input
}

// add takes a value of tool_calls of one event. A piece without an index is the
// call at its place, as servers send that do not stream calls; one that is of no
// known shape is left out.
func (t *toolCalls) add(value []byte) {
	var pieces []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if json.Unmarshal(value, &pieces) != nil {
		return
	}
	for i, piece := range pieces {
		if piece.Index != nil {
			i = *piece.Index
		}
		call := t.at(i)
		if piece.ID != "" {
			call.ID = piece.ID
		}
		if piece.Type != "" {
			call.Type = piece.Type
		}
		if piece.Function.Name != "" {
			call.Function.Name = piece.Function.Name
		}
		call.Function.Arguments += argumentText(piece.Function.Arguments)
	}
}

// at is the call with this index.
func (t *toolCalls) at(index int) *toolCall {
	for i := range *t {
		if (*t)[i].index == index {
			return &(*t)[i]
		}
	}
	*t = append(*t, toolCall{index: index, Type: "function"})
	return &(*t)[len(*t)-1]
}

// argumentText is a piece of arguments: the text of a string, else the JSON
// itself, which some servers do not quote.
func argumentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil || len(raw) == 0 {
		return text // empty for null
	}
	return string(raw)
}

// message is the array of an assistant message, nil without calls.
func (t toolCalls) message() json.RawMessage {
	if len(t) == 0 {
		return nil
	}
	slices.SortFunc(t, func(a, b toolCall) int { return a.index - b.index })
	array, err := json.Marshal([]toolCall(t))
	if err != nil {
		panic(err) // strings always marshal
	}
	return array
}
