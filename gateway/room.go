package gateway

import (
	"slices"
	"strconv"
)

// fitted returns the request with the alias's default of max_tokens lowered to the
// room that the target's context leaves. The client has not asked for so much:
// without a gateway its request would run to the end of the context, so it must
// not be refused for the gateway's own default.
func (r *request) fitted(t *target) *request {
	if r.filled == 0 || t.context == 0 {
		return r
	}
	room := max(1, t.context-int64(float64(r.input)*t.factor))
	if room >= r.maxTokens {
		return r
	}
	lowered := *r
	lowered.maxTokens = room
	lowered.edits = slices.Clone(r.edits)
	lowered.edits[r.filled-1] = r.setting(r.dialect.maxKeys[0], strconv.AppendInt(nil, room, 10))
	return &lowered
}
