// Package certs keeps a listener's certificate up to date with its files, so that
// one that is renewed needs no restart.
package certs
