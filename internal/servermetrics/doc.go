// Package servermetrics is reading the Prometheus page of any engine into one shape.
package servermetrics
