package gateway

// Arms of a model's traffic, by which checkpoints are compared.
const (
	armStable   = "stable"
	armCanary   = "canary"
	armFallback = "fallback"
)

// arm is the part of its model's traffic that the target serves.
func (t *target) arm() string {
	switch {
	case t.fallback:
		return armFallback
	case t.canary:
		return armCanary
	}
	return armStable
}

// countAttempt counts how an attempt ended at its target. Unlike requests, attempts
// that another one made good are seen: a canary whose failures fall back looks
// healthy to everybody but its own arm.
func (x *exchange) countAttempt(o outcome) {
	t := x.try.target
	x.g.metrics.attempts.WithLabelValues(x.model.alias, t.name, t.arm(), string(o)).Inc()
}

// countArm counts what the request was charged for at the target that served it.
func (x *exchange) countArm(input, cached, output int64) {
	t, tokens := x.try.target, x.g.metrics.armTokens
	tokens.WithLabelValues(x.model.alias, t.name, t.arm(), "input").Add(float64(max(input, 0)))
	tokens.WithLabelValues(x.model.alias, t.name, t.arm(), "cached").Add(float64(max(cached, 0)))
	tokens.WithLabelValues(x.model.alias, t.name, t.arm(), "output").Add(float64(max(output, 0)))
}
