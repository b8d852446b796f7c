// Package request writes what is sent: the bodies of requests in each dialect,
// with prompts of the length that the workload asks for.
package request
