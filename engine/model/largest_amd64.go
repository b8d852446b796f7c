package model

// maxVector is the largest of n values, a positive multiple of 32, that is above
// −Inf; −Inf when there is none. NaN counts for nothing.
//
//go:noescape
func maxVector(x *float32, n int) float32

// findVector is the index of the first of n values, a positive multiple of 32, that
// equals value; n when there is none.
//
//go:noescape
func findVector(x *float32, n int, value float32) int

// brokenVector reports whether any of n values, a positive multiple of 32, is NaN or
// +Inf.
//
//go:noescape
func brokenVector(x *float32, n int) bool
