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
	room := t.room(r.input)
	if room >= r.maxTokens {
		return r
	}
	lowered := *r
	lowered.maxTokens = room
	lowered.edits = slices.Clone(r.edits)
	lowered.edits[r.filled-1] = r.setting(r.dialect.maxKeys[0], strconv.AppendInt(nil, room, 10))
	return &lowered
}

// room is how much output the target's context leaves beside so much input; 0 when its
// context is not known.
func (t *target) room(input int64) int64 {
	if t.context == 0 {
		return 0
	}
	return max(1, t.context-int64(float64(input)*t.factor))
}

// roomiest is the most room that a step of the plan has; 0 when one's is not known.
func roomiest(plan []step, input int64) (most int64) {
	for _, s := range plan {
		room := s.target.room(input)
		if room == 0 {
			return 0
		}
		most = max(most, room)
	}
	return most
}
