// Package route is picking a deployment for a request, pure.
package route
