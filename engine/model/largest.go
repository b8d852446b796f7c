package model

import "math"

// largest returns the first token with the largest logit, and that logit; −1 if
// none is above −Inf. NaN is never the largest.
func largest(logits []float32) (token int32, top float32) {
	top = float32(math.Inf(-1))
	i := 0
	if n := len(logits) &^ 31; hasVector && n > 0 {
		top = maxVector(&logits[0], n)
		i = n
	}
	for _, l := range logits[i:] {
		if l > top {
			top = l
		}
	}
	if math.IsInf(float64(top), -1) {
		return -1, top
	}
	return first(logits, top), top
}

// first is the first token with a logit that is there.
func first(logits []float32, value float32) int32 {
	i := 0
	if n := len(logits) &^ 31; hasVector && n > 0 {
		if i = findVector(&logits[0], n, value); i < n {
			return int32(i)
		}
	}
	for logits[i] != value {
		i++
	}
	return int32(i)
}

// broken reports whether any logit is NaN or +Inf, which no sound model gives. −Inf is
// that of a token which never comes.
func broken(logits []float32) bool {
	i := 0
	if n := len(logits) &^ 31; hasVector && n > 0 {
		if brokenVector(&logits[0], n) {
			return true
		}
		i = n
	}
	for _, l := range logits[i:] {
		if !(l <= math.MaxFloat32) {
			return true
		}
	}
	return false
}
