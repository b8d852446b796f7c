// Package mock is a server with an exactly known behaviour: tokens come at the
// times that were asked for, and scripts replay the bytes of faulty servers
// with their read boundaries. It is what the load generator is measured
// against.
package mock
