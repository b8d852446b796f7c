// Package model is the transformer's shape, its seeded synthetic weights, and sampling.
package model
