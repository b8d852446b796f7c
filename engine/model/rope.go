package model

import (
	"fmt"
	"math"
)

// Rope is a rotary embedding (Su et al. 2021). Element i of a head pairs with
// element i + len(Frequencies), the convention of Hugging Face; what lies behind the
// pairs is not rotated.
type Rope struct {
	Frequencies []float64 // radians per position, of each pair
	Magnitude   float64   // cosines and sines are multiplied by it; 0 is 1 (YaRN, LongRoPE)
}

// PlainRope is the rotary embedding of a whole head without scaling.
func PlainRope(theta float64, headDim int) Rope {
	r := Rope{}
	for i := range headDim / 2 {
		r.Frequencies = append(r.Frequencies, math.Pow(theta, -float64(2*i)/float64(headDim)))
	}
	return r
}

// RopeScaling stretches a rotary embedding over more positions than it was trained
// for. The zero RopeScaling does not. Formulas and defaults are those of transformers
// (modeling_rope_utils.py).
type RopeScaling struct {
	Kind     string  // "", "linear", "dynamic", "yarn", "llama3" or "longrope"
	Factor   float64 // how many times more positions
	Original int     // positions before scaling

	// Attention is what cosines and sines are multiplied by; 0 is what the kind
	// computes.
	Attention float64

	LowFrequency, HighFrequency float64 // llama3: low_freq_factor, high_freq_factor

	BetaFast, BetaSlow float64 // yarn; 0 is 32 and 1
	Scale, ScaleAll    float64 // yarn: mscale, mscale_all_dim
	Unrounded          bool    // yarn: truncate is false

	Short, Long []float64 // longrope: a divisor per pair, up to Original positions and beyond
}

// Rope is the embedding with scaling, of base theta, that turns the first rotated
// elements of a head, for sequences of up to positions tokens. What a kind makes
// dependent on the length of a sequence is computed once, for the longest: keys that
// are cached have been turned already. So does vLLM.
func (s RopeScaling) Rope(theta float64, rotated, positions int) (Rope, error) {
	r := PlainRope(theta, rotated)
	if err := s.check(rotated); err != nil {
		return Rope{}, err
	}
	switch s.Kind {
	case "linear":
		for i := range r.Frequencies {
			r.Frequencies[i] /= s.Factor
		}
	case "dynamic":
		if positions > s.Original {
			stretch := s.Factor*float64(positions)/float64(s.Original) - (s.Factor - 1)
			r = PlainRope(theta*math.Pow(stretch, float64(rotated)/float64(rotated-2)), rotated)
		}
	case "llama3":
		s.llama3(r.Frequencies)
	case "yarn":
		s.yarn(r.Frequencies, theta)
		r.Magnitude = s.yarnMagnitude()
	case "longrope":
		divisors := s.Short
		if positions > s.Original {
			divisors = s.Long
		}
		for i := range r.Frequencies {
			r.Frequencies[i] /= divisors[i]
		}
		if r.Magnitude = 1; s.Factor > 1 {
			r.Magnitude = math.Sqrt(1 + math.Log(s.Factor)/math.Log(float64(s.Original)))
		}
	}
	if s.Attention > 0 && (s.Kind == "yarn" || s.Kind == "longrope") {
		r.Magnitude = s.Attention
	}
	return r, nil
}

// check reports what no embedding can be computed from.
func (s RopeScaling) check(rotated int) error {
	switch s.Kind {
	case "":
		return nil
	case "linear", "dynamic", "yarn", "llama3", "longrope":
	default:
		return fmt.Errorf("rope scaling of kind %q is not supported, expected linear, dynamic, yarn, llama3 or longrope", s.Kind)
	}
	switch {
	case !(s.Factor >= 1) && s.Kind != "longrope":
		return fmt.Errorf("rope scaling %s: factor %g, expected 1 or more", s.Kind, s.Factor)
	case s.Original < 2 && s.Kind != "linear":
		return fmt.Errorf("rope scaling %s: the window before scaling is %d tokens", s.Kind, s.Original)
	case s.Kind == "dynamic" && rotated < 4:
		return fmt.Errorf("rope scaling dynamic: heads of %d elements are too small", rotated)
	case s.Kind == "llama3" && !(s.LowFrequency > 0 && s.HighFrequency > s.LowFrequency):
		return fmt.Errorf("rope scaling llama3: frequency factors %g and %g, expected a low one above 0 and a higher one", s.LowFrequency, s.HighFrequency)
	case s.Kind == "longrope":
		return s.checkDivisors(rotated / 2)
	}
	return nil
}

func (s RopeScaling) checkDivisors(pairs int) error {
	for _, list := range []struct {
		name     string
		divisors []float64
	}{{"short", s.Short}, {"long", s.Long}} {
		if len(list.divisors) != pairs {
			return fmt.Errorf("rope scaling longrope: %d %s factors, expected %d", len(list.divisors), list.name, pairs)
		}
		for _, d := range list.divisors {
			if !(d > 0) || math.IsInf(d, 1) {
				return fmt.Errorf("rope scaling longrope: %s factor %g, expected a positive one", list.name, d)
			}
		}
	}
	return nil
}

// llama3 slows waves down that are longer than the window divided by LowFrequency,
// keeps those that are shorter than the window divided by HighFrequency, and goes
// over from one to the other between them.
func (s RopeScaling) llama3(frequencies []float64) {
	for i, f := range frequencies {
		turns := float64(s.Original) * f / (2 * math.Pi) // in the window
		smooth := (turns - s.LowFrequency) / (s.HighFrequency - s.LowFrequency)
		smooth = min(max(smooth, 0), 1)
		frequencies[i] = (1-smooth)*f/s.Factor + smooth*f
	}
}

// yarn is "NTK by parts" (Peng et al. 2023, YaRN, §3.2): pairs that turn more than
// BetaFast times in the window are kept, those below BetaSlow are interpolated, and
// between them there is a ramp over the pairs' numbers.
func (s RopeScaling) yarn(frequencies []float64, theta float64) {
	fast, slow := s.BetaFast, s.BetaSlow
	if fast == 0 {
		fast = 32
	}
	if slow == 0 {
		slow = 1
	}
	rotated := 2 * len(frequencies)
	// pair is the one, as a fraction, that turns so many times.
	pair := func(turns float64) float64 {
		return float64(rotated) * math.Log(float64(s.Original)/(turns*2*math.Pi)) / (2 * math.Log(theta))
	}
	low, high := pair(fast), pair(slow)
	if !s.Unrounded {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(rotated-1))
	if low == high {
		high += 0.001
	}
	for i, f := range frequencies {
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		frequencies[i] = f/s.Factor*ramp + f*(1-ramp)
	}
}

// yarnMagnitude is 0.1·ln factor + 1 (YaRN, §3.4), or the quotient of two such where
// a file gives mscale and mscale_all_dim.
func (s RopeScaling) yarnMagnitude() float64 {
	grown := func(scale float64) float64 {
		if s.Factor <= 1 {
			return 1
		}
		return 0.1*scale*math.Log(s.Factor) + 1
	}
	if s.Scale != 0 && s.ScaleAll != 0 {
		return grown(s.Scale) / grown(s.ScaleAll)
	}
	return grown(1)
}
