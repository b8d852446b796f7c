package config

import (
	"math"
	"testing"
)

func TestTokensFactor(t *testing.T) {
	for _, f := range []float64{0, 0.1, 1, 1.3, 10} {
		if err := (Target{TokensFactor: f}).checkFactor(); err != nil {
			t.Errorf("%g: %v", f, err)
		}
	}
	for _, f := range []float64{-1, 0.05, 11, math.NaN(), math.Inf(1)} {
		if err := (Target{TokensFactor: f}).checkFactor(); err == nil {
			t.Errorf("%g is accepted", f)
		}
	}
	const c = `
listen: 127.0.0.1:1
tenants: [{ name: a, keys: [{ key_env: A }] }]
providers: [{ name: p, endpoints: [http://h] }]
models: [{ alias: m, targets: [{ provider: p, model: x }], fallback: [{ provider: p, model: y, tokens_factor: 90 }] }]`
	if _, err := Parse([]byte(c)); err == nil || err.Error() != `model "m": fallback 1: tokens_factor 90 is out of range 0.1 to 10` {
		t.Errorf("error %v", err)
	}
}
