package main

import (
	"math"
	"slices"
	"time"
)

// results are everything that was measured.
type results struct {
	options   options
	machine   string
	busy      float64 // load average of the last minute before the start; NaN when unknown
	date      time.Time
	versions  map[string]string // of engines that ran
	missing   map[string]string // engines that could not run, and why
	weights   weights
	bandwidth float64 // bytes/s that the machine reads
	rows      []*measurement
	parts     []part
	partsErr  error
}

// bar is what the engine is held to, as issue and docs say.
type bar struct {
	name  string
	unit  string
	bound float64
	least bool // it is a lower bound
	value func(r *results, repeat int) float64
}

var bars = []bar{
	{"one stream, output tokens/s ÷ llama.cpp's", "×", 0.8, true, beside(func(m *measurement) float64 { return m.single })},
	{"many streams, prefix new, tokens/s ÷ llama.cpp's", "×", 1.5, true, beside(func(m *measurement) float64 { return m.cold.output })},
	{"many streams, prefix known, tokens/s ÷ llama.cpp's", "×", 1.5, true, beside(func(m *measurement) float64 { return m.warm.output })},
	{"start to the first 200 of /health", "s", 1, false, own(func(m *measurement) float64 { return m.start.Seconds() })},
}

// find is what an engine did in one repeat; nil when it did not.
func (r *results) find(engine string, repeat int) *measurement {
	for _, m := range r.rows {
		if m.engine == engine && m.repeat == repeat && m.err == nil {
			return m
		}
	}
	return nil
}

// measured tells whether an engine had a turn that ended well.
func (r *results) measured(engine string) bool {
	return !math.IsNaN(r.over(engine, func(*measurement) float64 { return 1 }))
}

func own(of func(*measurement) float64) func(*results, int) float64 {
	return func(r *results, repeat int) float64 {
		if m := r.find("llmctl", repeat); m != nil {
			return of(m)
		}
		return math.NaN()
	}
}

func beside(of func(*measurement) float64) func(*results, int) float64 {
	return func(r *results, repeat int) float64 {
		m, peer := r.find("llmctl", repeat), r.find("llama.cpp", repeat)
		if m == nil || peer == nil {
			return math.NaN()
		}
		return of(m) / of(peer)
	}
}

// held tells whether a value keeps within the bar. What could not be measured does not.
func (b bar) held(v float64) bool {
	if b.least {
		return v >= b.bound
	}
	return v <= b.bound
}

// over is the median over the repeats of one engine's figure.
func (r *results) over(engine string, of func(*measurement) float64) float64 {
	var values []float64
	for repeat := range r.options.repeats {
		if m := r.find(engine, repeat); m != nil {
			values = append(values, of(m))
		}
	}
	return median(values)
}

// median leaves out what is not a number.
func median(values []float64) float64 {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// perToken is what decoding a token of the single stream reads on average: all
// matrices, and the keys and values of the tokens before it.
func (r *results) perToken() float64 {
	l := r.options.load
	return float64(r.weights.matrices) + float64(r.weights.perToken)*(float64(l.single)+float64(l.output)/2)
}
