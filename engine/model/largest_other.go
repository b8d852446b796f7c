//go:build !amd64

package model

func maxVector(*float32, int) float32 { panic("model: no vector code") }

func findVector(*float32, int, float32) int { panic("model: no vector code") }

func brokenVector(*float32, int) bool { panic("model: no vector code") }
